import { parseArgs } from 'node:util';
import { systemClock } from '../kubernetes/clock.ts';

// Started by daemon/init.sh in namespaces of its own; with --prepare-host once before, while still root over the machine.
const { values } = parseArgs({
  options: {
    directory: { type: 'string' },
    'runtime-directory': { type: 'string' },
    'prepare-host': { type: 'boolean', default: false },
  },
  strict: true,
});
const { directory, 'runtime-directory': runtimeDirectory } = values;
if (directory === undefined || runtimeDirectory === undefined) {
  throw new Error('usage: main.ts --directory DIR --runtime-directory DIR [--prepare-host]');
}

const onError = (error: unknown): void => console.error(new Date().toISOString(), error);

/** The Kubernetes version whose behaviour we follow; kubectl prints it. */
const version = '1.36.0';
/** How long pods may take to end when the cluster is stopped, in milliseconds. */
const stopGrace = 8_000;

if (values['prepare-host']) {
  const { prepareHost } = await import('./node/image/prepare-host.ts');
  const { nodeLayout } = await import('./node/layout.ts');
  await prepareHost(nodeLayout(directory), runtimeDirectory);
} else {
  await serve(directory, runtimeDirectory);
}

async function serve(directory: string, runtimeDirectory: string): Promise<void> {
  const [{ openLocalApi }, { startApiServer }, { startControllers }, { startNode }] = await Promise.all([
    import('./api/open-local-api.ts'),
    import('./api/start-api-server.ts'),
    import('./controllers/start-controllers.ts'),
    import('./node/start-node.ts'),
  ]);
  const clock = systemClock;
  const api = await openLocalApi({ directory, clock });
  const node = await startNode({ api, directory, runtimeDirectory, clock, version, onError });
  const controllers = await startControllers({ api, provisioner: node, clock, random: Math.random, onError });
  const server = await startApiServer({ api, console: node, directory, onError });
  console.log(new Date().toISOString(), `serving ${server.url}`);

  const stop = async (): Promise<void> => {
    await server.close();
    await controllers.stop();
    await node.stop(stopGrace);
    await api.close();
    console.log(new Date().toISOString(), 'stopped');
  };
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    process.once(signal, () => {
      stop().then(
        () => process.exit(0),
        (error: unknown) => {
          onError(error);
          process.exit(1);
        },
      );
    });
  }
}
