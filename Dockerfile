# hiercos serve: docker build -t hiercos . && docker run --read-only --tmpfs /tmp -p 127.0.0.1:8000:8000 -v ./model:/model:ro hiercos
# The page at http://127.0.0.1:8000/ ; HIERCOS_TOKEN makes requests carry a token, `--set hosts=NAME` allows another name.
FROM python:3.12-slim AS build
WORKDIR /build
COPY pyproject.toml README.md LICENSE constraints.txt ./
COPY src src
COPY recipes recipes
RUN python -m venv /venv && /venv/bin/pip install --no-cache-dir -c constraints.txt '.[serve,images,parquet,onnx]'

FROM python:3.12-slim
COPY --from=build /venv /venv
RUN useradd --no-create-home --uid 10001 hiercos
USER 10001
ENV PATH=/venv/bin:$PATH PYTHONDONTWRITEBYTECODE=1 HIERCOS_CACHE=/tmp/hiercos
EXPOSE 8000
HEALTHCHECK CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8000/health', timeout=5)"]
ENTRYPOINT ["hiercos", "serve", "--host", "0.0.0.0"]
CMD ["/model"]
