# docker build -t tgc . && docker run --rm -it tgc tgc help
FROM debian:12
WORKDIR /tgc
COPY scripts scripts
RUN scripts/setup
COPY . .
RUN scripts/build release tgc
ENV PATH=/tgc/build/release/bin:$PATH
CMD ["tgc", "help"]
