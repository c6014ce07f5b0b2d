import { join } from 'node:path';
import { checkout, EmbeddedEnvironment, namespace } from '../../support/embedded-environment.ts';
import { DirectorSetup } from './director-setup.ts';
import type { Scene } from './scenario.ts';

/** Starts a director and an embedded cluster with our agent. `out` gets a line for each call. */
export async function openEmbeddedScene(out: (line: string) => void): Promise<Scene> {
  const setup = await DirectorSetup.start({ out });
  let started: EmbeddedEnvironment | undefined;
  const close = async (): Promise<void> => {
    try {
      await started?.destroy();
      await started?.remove();
    } finally {
      await setup.close();
    }
  };
  try {
    const environment = await EmbeddedEnvironment.start({ mbus: setup.server.url });
    started = environment;
    const deployment = await setup.deployment({
      cpi: (method, ...args) => environment.call(method, ...args),
      stemcell: join(checkout, 'dist', 'embedded-stemcell.tgz'),
      compilationAddress: '127.64.0.9',
    });
    return {
      ...{ setup, deployment, hello: await setup.hello(), smoke: await setup.smoke(), namespace, close },
      addresses: ['127.64.0.10', '127.64.0.11', '127.64.0.12', '127.64.0.13'],
      ...{ api: await environment.api(), hasSshd: false },
      exec: (vmCid, script) => environment.exec(vmCid, script),
    };
  } catch (error) {
    await close();
    throw error;
  }
}
