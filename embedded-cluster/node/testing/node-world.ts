import assert from 'node:assert/strict';
import { mkdir, mkdtemp, realpath } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before } from 'node:test';
import { systemClock } from '../../../src/platform/clock.ts';
import type { KubernetesObject } from '../../../src/kubernetes/object.ts';
import type { Container, Pod, PodSpec } from '../../../src/kubernetes/types/pod.ts';
import { events, pods } from '../../../src/kubernetes/resources.ts';
import { type LocalApi, openLocalApi } from '../../api-server/local-api.ts';
import { runCommand } from '../command.ts';
import type { EmbeddedNode } from '../embedded-node.ts';
import { hostRootImage } from '../node-object.ts';
import { mountsAtOrBelow, readMountTable } from '../../../src/platform/mountinfo.ts';
import { safeRemove } from '../../../src/platform/safe-remove.ts';
import { startNode } from '../start-node.ts';

/** The first process of a pid namespace ignores signals for which it has no handler. */
export const idle = 'trap "exit 0" TERM; sleep 1000 & wait';

/** Returns a container of the host's root that runs a shell script. */
export const container = (script: string, changes: Partial<Container> = {}): Container => ({
  name: 'main',
  image: hostRootImage,
  command: ['/bin/sh', '-c', script],
  ...changes,
});

/** Sets up a node with an API in the same process for the tests of one file, and methods to query both. */
export function nodeWorld(): NodeWorld {
  const world = new NodeWorld();
  before(() => world.open());
  after(() => world.close());
  return world;
}

/** See nodeWorld. */
export class NodeWorld {
  readonly #errors: unknown[] = [];
  #api: LocalApi | undefined;
  #node: EmbeddedNode | undefined;
  #directory = '';

  get api(): LocalApi {
    return this.#api ?? assert.fail('there is no API yet');
  }

  get node(): EmbeddedNode {
    return this.#node ?? assert.fail('the node was not started');
  }

  get directory(): string {
    return this.#directory;
  }

  async open(): Promise<void> {
    this.#directory = await realpath(await mkdtemp(join(tmpdir(), 'bosh-kubernetes node ')));
    await mkdir(join(this.directory, 'runtime'));
    this.#api = await openLocalApi({ directory: this.directory });
    this.#node = await this.#start();
  }

  async close(): Promise<void> {
    await this.node.stop(0);
    await unmountNode(this.directory);
    await safeRemove(this.directory);
    assert.deepEqual(this.#errors, []);
  }

  /** Restarts the node as after the end of the daemon, which also ends its mounts. */
  async restart(): Promise<void> {
    await this.node.stop(0);
    await unmountNode(this.directory);
    this.#node = await this.#start();
  }

  #start(): Promise<EmbeddedNode> {
    const { api, directory } = this;
    const runtimeDirectory = join(directory, 'runtime');
    return startNode({
      ...{ api, directory, runtimeDirectory, clock: systemClock, version: '1.36.0' },
      onError: (error) => this.#errors.push(error),
    });
  }

  podOf(
    name: string,
    spec: Partial<PodSpec> & { containers: Container[] },
    annotations: Readonly<Record<string, string>> = {},
  ): Promise<Pod> {
    return this.api.create<Pod>(pods, {
      metadata: { namespace: 'bosh', name, annotations },
      spec: {
        ...{ nodeName: 'embedded', restartPolicy: 'Always', terminationGracePeriodSeconds: 5 },
        // No controller here publishes the root CA of a namespace, which a token volume contains.
        automountServiceAccountToken: false,
        ...spec,
      },
    });
  }

  getPod(name: string): Promise<Pod> {
    return this.api.get<Pod>({ resource: pods, namespace: 'bosh', name });
  }

  untilPod(name: string, holds: (pod: Pod) => boolean): Promise<Pod> {
    return until(
      async () => {
        const pod = await this.getPod(name);
        return holds(pod) ? pod : undefined;
      },
      async () => JSON.stringify([(await this.getPod(name)).status, await this.eventsOf(name)], undefined, 1),
    );
  }

  untilRunning(name: string): Promise<Pod> {
    return this.untilPod(
      name,
      (pod) =>
        pod.status?.conditions?.some((each) => each.type === 'Ready' && each.status === 'True') === true,
    );
  }

  untilDeleted(name: string): Promise<boolean> {
    return until(
      async () =>
        this.getPod(name).then(
          () => undefined,
          () => true,
        ),
      async () => JSON.stringify([await this.getPod(name), await this.eventsOf(name)], undefined, 1),
    );
  }

  remove(name: string): Promise<void> {
    return this.api.delete({ resource: pods, namespace: 'bosh', name });
  }

  async eventsOf(name: string): Promise<string[]> {
    const { items } = await this.api.list<
      KubernetesObject & { reason: string; message: string; involvedObject: { name: string } }
    >(events);
    return items
      .filter((event) => event.involvedObject.name === name)
      .map((event) => `${event.reason}: ${event.message}`);
  }

  async logsOf(pod: string, changes: { previous?: boolean; container?: string } = {}): Promise<string> {
    const request = {
      namespace: 'bosh',
      pod,
      container: 'main',
      follow: false,
      previous: false,
      timestamps: false,
    };
    const chunks: Uint8Array[] = [];
    for await (const chunk of this.node.logs({
      ...request,
      ...changes,
      signal: new AbortController().signal,
    })) {
      chunks.push(chunk);
    }
    return Buffer.concat(chunks).toString();
  }

  async execIn(pod: string, ...command: string[]): Promise<{ exitCode: number; stdout: string }> {
    const session = await this.node.exec({
      namespace: 'bosh',
      pod,
      container: 'main',
      command,
      stdin: false,
      tty: false,
    });
    session.stderr.resume();
    const chunks: Buffer[] = [];
    for await (const chunk of session.stdout) {
      chunks.push(chunk as Buffer);
    }
    return { ...(await session.exited), stdout: Buffer.concat(chunks).toString() };
  }
}

/** Removes the node's mounts, as the end of the daemon's mount namespace does. */
async function unmountNode(directory: string): Promise<void> {
  for (;;) {
    const [entry] = mountsAtOrBelow(await readMountTable(), directory);
    if (entry === undefined) {
      return;
    }
    const result = await runCommand('umount', ['--lazy', entry.target]);
    assert.equal(result.exitCode, 0, result.stderr);
  }
}

/**
 * Polls until the attempt returns a result. After a minute it fails and shows the attempt and the text of
 * `describe`.
 */
export async function until<T>(
  attempt: () => Promise<T | undefined>,
  describe?: () => Promise<string>,
): Promise<T> {
  const deadline = Date.now() + 60_000;
  for (;;) {
    const result = await attempt();
    if (result !== undefined) {
      return result;
    }
    if (Date.now() > deadline) {
      assert.fail(`waited 60 s for ${attempt.toString()} ${(await describe?.()) ?? ''}`);
    }
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
