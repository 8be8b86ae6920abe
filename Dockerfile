# simfl on a CPU.  docker run --rm -v $PWD/scenarios:/scenarios simfl run quickstart.yaml
FROM python:3.11-slim
WORKDIR /simfl
COPY pyproject.toml setup.py MANIFEST.in constraints.txt README.md LICENSE ./
COPY simfl simfl
COPY scenarios scenarios
RUN pip install --no-cache-dir -c constraints.txt torch --extra-index-url https://download.pytorch.org/whl/cpu \
 && pip install --no-cache-dir -c constraints.txt .
ENV OMP_NUM_THREADS=1
WORKDIR /scenarios
ENTRYPOINT ["simfl"]
