# The image of every process of a cluster. It starts a coordinator by default; docker-compose.yml starts the others.
FROM node:24-trixie AS build
WORKDIR /vouch
# Packages first: they change seldom, and this layer is kept until they do.
COPY package.json package-lock.json .npmrc ./
COPY scripts/setup.mjs scripts/
COPY scripts/setup scripts/setup
COPY test/package.json test/
RUN node scripts/setup.mjs install
COPY . .
# Every user id reads the program, whatever umask its sources were checked out with.
RUN node scripts/setup.mjs build && npm prune --omit=dev --workspaces=false --ignore-scripts && \
    chmod -R a+rX package.json node_modules config dist

FROM node:24-trixie-slim
ENV NODE_OPTIONS=--max-semi-space-size=8 \
    MALLOC_ARENA_MAX=2 MALLOC_MMAP_THRESHOLD_=131072 MALLOC_TRIM_THRESHOLD_=1048576
ENV NODE_ENV=production VOUCH_HOST=0.0.0.0 VOUCH_PORT=8080 VOUCH_DATA_DIR=/data
WORKDIR /vouch
COPY --from=build /vouch/package.json ./
COPY --from=build /vouch/node_modules node_modules
COPY --from=build /vouch/config config
COPY --from=build /vouch/dist dist
# Folders of root's group, which a container has under any user id: `docker run --user 12345`, OpenShift.
RUN for folder in /data /keys /log /users /users/coordinator /users/shard /users/operator /users/admin; do \
      mkdir -m 770 $folder; done
# By number: Kubernetes cannot see from a name that the user is not root.
USER 1000:0
EXPOSE 8080
HEALTHCHECK --interval=5s --timeout=3s --start-period=30s --retries=3 \
  CMD ["node", "-e", "const { VOUCH_PORT: port, VOUCH_TLS_CERT: cert } = process.env; require(cert ? 'https' : 'http').get({ host: '127.0.0.1', port, path: '/health', rejectUnauthorized: false }, (r) => process.exit(r.statusCode === 200 ? 0 : 1)).on('error', () => process.exit(1))"]
CMD ["node", "--single-threaded-gc", "dist/coordinator/main.js"]
