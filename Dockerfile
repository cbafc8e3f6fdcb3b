# The image of the operator: docker build -t aim-engine .
# It holds this package and the packages it needs in the versions of uv.lock. It writes nowhere but in /tmp.
ARG PYTHON=3.13

FROM python:${PYTHON}-slim AS packages
RUN pip install --no-cache-dir 'uv>=0.8'
ENV UV_COMPILE_BYTECODE=1 UV_LINK_MODE=copy UV_PROJECT_ENVIRONMENT=/packages
WORKDIR /source
COPY pyproject.toml uv.lock README.md LICENSE ./
COPY src src
COPY kubernetes kubernetes
COPY deploy/install.yaml deploy/install.yaml
RUN uv sync --frozen --no-dev --no-editable

FROM python:${PYTHON}-slim
COPY --from=packages /packages /packages
COPY deploy/image/manager /manager
ENV PATH=/packages/bin:$PATH PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 HOME=/tmp
WORKDIR /tmp
USER 65532:65532
ENTRYPOINT ["/manager"]
