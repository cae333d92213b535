# Two images of one content:
#   docker build --target gateway -t foldgate .
#   docker build --target runner  -t foldgate-runner .
# What they add to the base image is some 40 MB: 31 of libraries, 5 of Foldgate, and a list of both in /app/sbom.spdx.json (SPDX 2.3).
# Both run as a numeric user and with a read-only root. What they write is under /run/foldgate and /var/cache/foldgate; mount
# something there.
ARG NODE_IMAGE=node:24.21.0-slim

# The sources as JavaScript: nothing is stripped at start.
FROM ${NODE_IMAGE} AS build
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
RUN npm ci --no-audit --no-fund
COPY tsconfig.json tsconfig.build.json ./
COPY plugins plugins
COPY config config
COPY proxy proxy
COPY native-runner native-runner
COPY grafana/runbooks grafana/runbooks
COPY test/build.ts test/build.ts
RUN npm run build

# What runs need of node_modules, without what only debuggers and compilers read. `--build-arg KUBERNETES_CLIENT=yes` adds the
# library that folding.kubernetes needs, some 40 MB.
FROM ${NODE_IMAGE} AS modules
ARG KUBERNETES_CLIENT=no
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
RUN if [ "$KUBERNETES_CLIENT" = yes ]; then \
    npm pkg set "dependencies.@kubernetes/client-node=$(node -p 'require("./package.json").peerDependencies["@kubernetes/client-node"]')" \
    && npm pkg delete 'devDependencies.@kubernetes/client-node' && npm install --package-lock-only; fi
RUN npm ci --omit=dev --no-audit --no-fund \
  && npm pkg delete devDependencies peerDependencies peerDependenciesMeta && npm sbom --sbom-format=spdx > sbom.spdx.json \
  && find node_modules -type f \( -name '*.map' -o -name '*.d.ts' -o -name '*.d.mts' -o -name '*.d.cts' \) -delete

FROM ${NODE_IMAGE} AS content
ARG FOLDGATE_COMMIT=unknown
# The allocator's settings keep glibc from holding what large bodies once needed (README, "Memory on Linux").
ENV NODE_ENV=production \
    FOLDGATE_COMMIT=${FOLDGATE_COMMIT} \
    FOLDGATE_CACHE=/var/cache/foldgate \
    MALLOC_MMAP_THRESHOLD_=65536 \
    MALLOC_TRIM_THRESHOLD_=131072 \
    MALLOC_ARENA_MAX=2
WORKDIR /app
COPY package.json LICENSE ./
COPY --from=modules /app/node_modules node_modules
COPY --from=modules /app/sbom.spdx.json sbom.spdx.json
COPY --from=build /app/dist dist
RUN ln -s /app/dist/proxy/cli/foldgate.js /usr/local/bin/foldgate \
  && install -d -o 65532 -g 65532 -m 0750 /run/foldgate /var/cache/foldgate
USER 65532:65532

FROM content AS runner
EXPOSE 8000
# In front of a server with the OpenAI API: --upstream URL. For a model of its own: --model FILE; engine and model are fetched into
# /var/cache/foldgate at the first start.
ENTRYPOINT ["node", "/app/dist/native-runner/main.js"]
CMD ["--engine", "echo", "--host", "0.0.0.0"]

# The last one is what a build without --target makes.
FROM content AS gateway
EXPOSE 8080 9901
# Node is PID 1 and gets the signals itself: SIGTERM drains, SIGHUP reloads.
ENTRYPOINT ["node", "/app/dist/proxy/cli/foldgate.js"]
CMD ["serve", "/etc/foldgate/config/gateway.yaml"]
