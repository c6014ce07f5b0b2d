import { ServiceProxy } from './service-proxy/service-proxy.ts';
import { parseArgs } from 'node:util';
import { isProductError } from '../src/errors/product-error.ts';
import { systemClock } from '../src/platform/clock.ts';
import { kubernetesVersion as version } from './api-server/http/server-info.ts';
import { openLocalApi } from './api-server/local-api.ts';
import { loadCredentials } from './api-server/pki/credentials.ts';
import { publishApiServer } from './api-server/publish-api-server.ts';
import { startApiServer } from './api-server/start-api-server.ts';
import { startControllers } from './controllers/start-controllers.ts';
import { parseNodeArgument } from './node/parse-node.ts';
import { nodeAddress } from './node/pods/pod-addresses.ts';
import { startNode } from './node/start-node.ts';

/** Milliseconds that pods have to stop when the cluster stops. */
const stopGrace = 10_000;

const { values } = parseArgs({
  options: {
    directory: { type: 'string' },
    'runtime-directory': { type: 'string' },
    /** NAME=ZONE, repeatable: more Node objects that are this machine. */
    node: { type: 'string', multiple: true, default: [] },
  },
});
if (values.directory === undefined || values['runtime-directory'] === undefined) {
  throw new Error('usage: main.ts --directory <directory> --runtime-directory <directory>');
}
try {
  await run(values.directory, values['runtime-directory']);
} catch (error) {
  // The program that started the cluster shows the end of the log. A message of this product needs no stack.
  console.error(isProductError(error) ? error.message : error);
  process.exit(1);
}

async function run(directory: string, runtimeDirectory: string): Promise<void> {
  const clock = systemClock;
  const onError = (error: unknown): void => console.error(new Date(clock.now()).toISOString(), error);
  const api = await openLocalApi({ directory, clock });
  const { promise: apiServer, resolve: serving } = Promise.withResolvers<URL>();
  const nodes = values.node.map((text) => parseNodeArgument(text));
  const node = await startNode({
    api,
    directory,
    runtimeDirectory,
    nodes,
    clock,
    version,
    apiServer,
    onError,
  });
  const { authority: rootCertificate } = await loadCredentials(directory, clock.now());
  const controllers = await startControllers({
    ...{ api, provisioner: node, clock, random: Math.random, rootCertificate, onError },
  });
  const proxy = new ServiceProxy({ api, nodeAddress, clock, random: Math.random, onError });
  await proxy.start();
  const server = await startApiServer({ api, console: node, directory, onError });
  await publishApiServer(api, new URL(server.url));
  serving(new URL(server.url));
  console.log(new Date(clock.now()).toISOString(), `serving on ${server.url}`);
  process.once('SIGTERM', () => {
    void stop().catch(onError);
  });

  async function stop(): Promise<void> {
    await controllers.stop();
    await proxy.stop();
    await node.stop(stopGrace);
    await server.close();
    await api.close();
  }
}
