# The app in a container.
#
#   docker build -t laya .                                                                  CPU, small
#   docker build -t laya --build-arg TORCH_INDEX=https://download.pytorch.org/whl/cu130 .   CUDA
#   docker run --rm -p 8501:8501 laya                                                       (CUDA: add --gpus all)
#   docker run --rm -p 8501:8501 --read-only --tmpfs /tmp --cap-drop ALL laya               writes to /tmp alone
FROM python:3.11-slim

# PyPI's Linux wheels of torch bring CUDA with them; PyTorch's own index has the small CPU ones.
ARG TORCH_INDEX=https://download.pytorch.org/whl/cpu

# MALLOC_ARENA_MAX: every rerun is a thread, and glibc would keep freed memory apart for each of them.
ENV PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1 \
    PIP_NO_CACHE_DIR=1 \
    PIP_DISABLE_PIP_VERSION_CHECK=1 \
    MPLCONFIGDIR=/tmp/matplotlib \
    LAYA_LOG=info \
    MALLOC_ARENA_MAX=2

# Chromium draws the charts that people take away as PNG; without it they get HTML alone. Not pinned: Debian keeps the
# newest version alone.
# hadolint ignore=DL3008
RUN apt-get update && apt-get install -y --no-install-recommends chromium && rm -rf /var/lib/apt/lists/*

WORKDIR /app

# Dependencies first: they change less often than the code.
COPY requirements.txt ./
RUN grep -E '^torch(vision)?[<>=]' requirements.txt > torch.txt && pip install --index-url "${TORCH_INDEX}" -r torch.txt
RUN pip install -r requirements.txt

COPY .streamlit ./.streamlit
COPY laya ./laya
COPY pages ./pages
COPY checkpoints ./checkpoints
COPY app.py ./

RUN useradd --create-home --uid 10001 laya
USER 10001

EXPOSE 8501
HEALTHCHECK --interval=30s --timeout=5s --start-period=60s --retries=3 \
    CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8501/_stcore/health', timeout=4)"]

CMD ["streamlit", "run", "app.py", "--server.address=0.0.0.0", "--server.port=8501", "--server.headless=true", \
     "--server.fileWatcherType=none"]
