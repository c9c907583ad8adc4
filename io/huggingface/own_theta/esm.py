import torch

def use_own_theta(model):
    theta = torch.tensor(model.config.rotor_theta["theta"], dtype=torch.float64)
    size = model.config.hidden_size // model.config.num_attention_heads
    theta = torch.nn.functional.pad(theta, (0, size // 2 - theta.shape[-1]))

    def own_rotation(attention, theta):
        def before(module, args, kwargs):
            cos, sin = kwargs["position_embeddings"]
            none = torch.ones_like(cos), torch.zeros_like(sin)
            return args, {**kwargs, "position_embeddings": none}

        def rotate(module, args, x):
            heads = x.unflatten(-1, (-1, size))
            angles = torch.arange(x.shape[1], dtype=torch.float64)[:, None, None] * theta
            angles = torch.cat([angles, angles], -1)
            first, second = heads.chunk(2, -1)
            swapped = torch.cat([-second, first], -1)
            return (heads * angles.cos().to(x) + swapped * angles.sin().to(x)).flatten(2)

        attention.register_forward_pre_hook(before, with_kwargs=True)
        attention.query.register_forward_hook(rotate)
        attention.key.register_forward_hook(rotate)

    for layer, own in zip(model.base_model.encoder.layer, theta):
        own_rotation(layer.attention.self, own)
