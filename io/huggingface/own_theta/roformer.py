import torch

def use_own_theta(model):
    theta = torch.tensor(model.config.rotor_theta["theta"], dtype=torch.float64)
    pairs = model.config.hidden_size // model.config.num_attention_heads // 2
    theta = torch.nn.functional.pad(theta, (0, pairs - theta.shape[-1]))

    def rotate_by(theta):
        def hook(module, args, kwargs):
            table = args[2] if len(args) > 2 else kwargs["sinusoidal_pos"]
            positions = torch.arange(table.shape[-2], dtype=torch.float64)
            angles = positions[None, :, None] * theta[:, None, :]
            own = torch.cat([angles.sin(), angles.cos()], -1)[None].to(table)
            if len(args) > 2:
                return (*args[:2], own, *args[3:]), kwargs
            return args, {**kwargs, "sinusoidal_pos": own}
        return hook

    for layer, own in zip(model.base_model.encoder.layer, theta):
        layer.attention.register_forward_pre_hook(rotate_by(own), with_kwargs=True)
