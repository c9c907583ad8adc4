import torch

def use_own_theta(model):
    theta = torch.tensor(model.config.rotor_theta["theta"], dtype=torch.float64)
    scale = model.base_model.rotary_emb.attention_scaling

    def own_rotation(attention, theta):
        size = attention.head_size
        half = theta.shape[-1]
        place = {}

        def before(module, args, kwargs):
            cos, sin = kwargs["position_embeddings"]
            angles = torch.arange(cos.shape[-2], dtype=torch.float64)[:, None, None] * theta
            place["cos"] = (angles.cos() * scale).to(cos)
            place["sin"] = (angles.sin() * scale).to(sin)
            none = torch.ones_like(cos), torch.zeros_like(sin)
            return args, {**kwargs, "position_embeddings": none}

        def turn(heads):
            first, second, rest = heads.split([half, half, size - 2 * half], -1)
            cos, sin = place["cos"], place["sin"]
            return torch.cat([first * cos - second * sin, second * cos + first * sin, rest], -1)

        def rotate(module, args, x):
            query, key, value = x.unflatten(-1, (-1, 3 * size)).chunk(3, -1)
            return torch.cat([turn(query), turn(key), value], -1).flatten(-2)

        attention.register_forward_pre_hook(before, with_kwargs=True)
        attention.query_key_value.register_forward_hook(rotate)

    for layer, own in zip(model.base_model.layers, theta):
        own_rotation(layer.attention, own)
