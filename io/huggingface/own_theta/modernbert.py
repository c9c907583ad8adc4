import torch

def use_own_theta(model):
    theta = torch.tensor(model.config.rotor_theta["theta"], dtype=torch.float64)
    base = model.base_model
    scale = getattr(base.rotary_emb, base.layers[0].attention_type + "_attention_scaling")
    size = base.layers[0].attn.head_dim
    theta = torch.nn.functional.pad(theta, (0, size // 2 - theta.shape[-1]))

    def own_rotation(attention, theta):
        def before(module, args, kwargs):
            cos, sin = kwargs["position_embeddings"]
            none = torch.ones_like(cos), torch.zeros_like(sin)
            return args, {**kwargs, "position_embeddings": none}

        def rotate(module, args, x):
            heads = x.unflatten(-1, (3, -1, size))
            angles = torch.arange(x.shape[1], dtype=torch.float64)[:, None, None] * theta
            angles = torch.cat([angles, angles], -1)[:, None]
            cos, sin = (angles.cos() * scale).to(x), (angles.sin() * scale).to(x)
            both, value = heads[:, :, :2], heads[:, :, 2:]
            first, second = both.chunk(2, -1)
            turned = both * cos + torch.cat([-second, first], -1) * sin
            return torch.cat([turned, value], 2).flatten(2)

        attention.register_forward_pre_hook(before, with_kwargs=True)
        attention.Wqkv.register_forward_hook(rotate)

    for layer, own in zip(base.layers, theta):
        own_rotation(layer.attn, own)
