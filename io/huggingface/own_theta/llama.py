import torch

def use_own_theta(model):
    theta = torch.tensor(model.config.rotor_theta["theta"], dtype=torch.float64)
    base = model.base_model
    layers = [l for l in base.layers if getattr(l.self_attn, "use_rope", True)]
    size = base.layers[0].self_attn.head_dim
    theta = torch.nn.functional.pad(theta, (0, size // 2 - theta.shape[-1]))
    scale = base.rotary_emb.attention_scaling

    def own_rotation(layer, theta):
        place = {}

        def before(module, args, kwargs):
            cos, sin = kwargs["position_embeddings"]
            angles = kwargs["position_ids"][:, :, None, None].double().cpu() * theta
            angles = torch.cat([angles, angles], -1)
            place["cos"] = (angles.cos() * scale).to(cos)
            place["sin"] = (angles.sin() * scale).to(sin)
            none = torch.ones_like(cos), torch.zeros_like(sin)
            return args, {**kwargs, "position_embeddings": none}

        def rotate(module, args, x):
            heads = x.reshape(*x.shape[:2], -1, size)
            first, second = heads.chunk(2, -1)
            swapped = torch.cat([-second, first], -1)
            group = heads.shape[-2] // place["cos"].shape[-2]
            cos, sin = (place[key].repeat_interleave(group, -2) for key in ("cos", "sin"))
            return (heads * cos + swapped * sin).reshape(x.shape)

        attention = layer.self_attn
        attention.register_forward_pre_hook(before, with_kwargs=True)
        getattr(attention, "q_norm", attention.q_proj).register_forward_hook(rotate)
        getattr(attention, "k_norm", attention.k_proj).register_forward_hook(rotate)

    for layer, own in zip(layers, theta):
        own_rotation(layer, own)
