// npm run director:demo: a scripted director deploys examples/hello in two instances on the embedded cluster,
// with the agent of this project, over NATS, and deletes them. The real CPI runs as one process per call.
import { noNatsServer } from '../../../src/agent/testing/nats-server.ts';
import { leftObjects } from '../../support/left-objects.ts';
import { openEmbeddedScene } from './embedded-scene.ts';

const out = (line: string): void => void process.stdout.write(`${line}\n`);

async function deployAndDelete(): Promise<void> {
  const scene = await openEmbeddedScene(out);
  const { setup, deployment, hello, api, namespace } = scene;
  try {
    const addresses = scene.addresses.slice(0, 2);
    const properties = { hello: { port: 8080, audience: 'operators' } };
    await deployment.deploy([
      { name: 'hello', lifecycle: 'service', release: hello, addresses, properties, diskSize: 64 },
    ]);
    for (const address of addresses) {
      const url = `http://${address}:8080/`;
      const { status } = await fetch(url);
      out(`${url} ${status}`);
      if (status !== 200) throw new Error(`${url} responds with ${status}`);
    }
    out(`${deployment.instances.length} instances running`);
    await deployment.delete();
    await deployment.deleteStemcell();
    const left = await leftObjects(api, namespace);
    if (left.length > 0) throw new Error(`not deleted: ${left.join(', ')}`);
    await setup.assertPermitted();
  } finally {
    await scene.close();
  }
  out('nothing left');
}

try {
  if (noNatsServer !== false)
    throw new Error(`director:demo ${noNatsServer}; install it with: apt-get install nats-server`);
  await deployAndDelete();
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}
