import { parseArgs } from 'node:util';
import { isProductError } from '../src/errors/product-error.ts';
import { systemClock } from '../src/platform/clock.ts';
import { kubernetesVersion as version } from './api-server/http/server-info.ts';
import { openLocalApi } from './api-server/open-local-api.ts';
import { loadCredentials } from './api-server/pki/credentials.ts';
import { publishApiServer } from './api-server/publish-api-server.ts';
import { startApiServer } from './api-server/start-api-server.ts';
import { startControllers } from './controllers/start-controllers.ts';
import { parseNodeArgument } from './node/parse-node.ts';
import { nodeAddress } from './node/pods/pod-addresses.ts';
import { SimulatedNodes } from './node/simulated/simulated-nodes.ts';
import { startNode } from './node/start-node.ts';
import { startServiceProxy } from './service-proxy/start-service-proxy.ts';

/** Milliseconds that pods have to stop when the cluster stops. */
const stopGrace = 10_000;

const { values } = parseArgs({
  options: {
    directory: { type: 'string' },
    'runtime-directory': { type: 'string' },
    /** NAME=ZONE, repeatable: nodes beside the real one that report status and run nothing. */
    'simulated-node': { type: 'string', multiple: true, default: [] },
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
  const nodes = values.node.map((text) => parseNodeArgument(text, 'node'));
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
  const simulated = new SimulatedNodes({
    ...{
      api,
      nodes: values['simulated-node'].map((text) => parseNodeArgument(text, 'simulated node')),
      clock,
      fallbackConsole: node,
      onError,
    },
  });
  if (values['simulated-node'].length > 0) await simulated.start();
  const { authority: rootCertificate } = await loadCredentials(directory, clock.now());
  const controllers = await startControllers({
    ...{ api, provisioner: node, clock, random: Math.random, rootCertificate, onError },
  });
  const proxy = await startServiceProxy({ api, nodeAddress, clock, random: Math.random, onError });
  const server = await startApiServer({ api, console: simulated, directory, onError });
  await publishApiServer(api, new URL(server.url));
  serving(new URL(server.url));
  console.log(new Date(clock.now()).toISOString(), `serving on ${server.url}`);
  process.once('SIGTERM', () => {
    void stop().catch(onError);
  });

  async function stop(): Promise<void> {
    await controllers.stop();
    await proxy.stop();
    await simulated.stop();
    await node.stop(stopGrace);
    await server.close();
    await api.close();
  }
}
