import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { systemClock } from '../../../kubernetes/clock.ts';
import type { Pod } from '../../../kubernetes/pod.ts';
import { pods } from '../../../kubernetes/resources.ts';
import { startTlsServer } from '../../../kubernetes/testing/tls-server.ts';
import { prepareHost } from '../../node/image/prepare-host.ts';
import { nodeLayout } from '../../node/layout.ts';
import { startNode } from '../../node/start-node.ts';
import { openLocalApi } from '../../api/open-local-api.ts';

// A cluster of a node alone: runs the pods of pods.json, tells them at /pods.
const { values } = parseArgs({
  options: {
    directory: { type: 'string' },
    'runtime-directory': { type: 'string' },
    'prepare-host': { type: 'boolean', default: false },
  },
});
const { directory = '', 'runtime-directory': runtimeDirectory = '' } = values;
if (values['prepare-host']) {
  await prepareHost(nodeLayout(directory), runtimeDirectory);
  process.exit(0);
}

const api = await openLocalApi({ directory });
const known = await api.list<Pod>(pods);
for (const pod of JSON.parse(readFileSync(join(directory, 'pods.json'), 'utf8')) as Pod[]) {
  if (!known.items.some((each) => each.metadata.name === pod.metadata.name)) {
    await api.create(pods, pod);
  }
}
const node = await startNode({
  ...{ api, directory, runtimeDirectory, clock: systemClock, version: '1.36.0' },
  onError: (error) => console.error(error),
});
const { access, close } = await startTlsServer((request, response) => {
  if (request.url === '/readyz') {
    response.end('ok');
    return;
  }
  void api.list(pods).then((list) => response.end(JSON.stringify(list)));
});
const base64 = (text = ''): string => Buffer.from(text).toString('base64');
writeFileSync(
  join(directory, 'kubeconfig'),
  JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'embedded',
    contexts: [{ name: 'embedded', context: { cluster: 'embedded', user: 'admin', namespace: 'bosh' } }],
    clusters: [
      {
        name: 'embedded',
        cluster: { server: access.server, 'certificate-authority-data': base64(access.ca) },
      },
    ],
    users: [
      {
        name: 'admin',
        user: {
          'client-certificate-data': base64(access.certificate),
          'client-key-data': base64(access.key),
        },
      },
    ],
  }),
  { mode: 0o600 },
);
process.on('SIGTERM', () => {
  void node
    .stop(1_000)
    .then(close)
    .then(() => api.close());
});
