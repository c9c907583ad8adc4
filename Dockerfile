FROM debian:13-slim AS build
COPY . /rotor
WORKDIR /rotor
RUN scripts/prepare && cmake -S . -B build && cmake --build build --parallel --target train
FROM debian:13-slim
RUN apt-get update && apt-get install -y --no-install-recommends libopenblas0-pthread libhdf5-310 libxxhash0 \
    libutf8proc3 libjansson4 zlib1g && rm -rf /var/lib/apt/lists/*
COPY --from=build /rotor/build/train /usr/local/bin/rotor
WORKDIR /work
ENTRYPOINT ["rotor"]
