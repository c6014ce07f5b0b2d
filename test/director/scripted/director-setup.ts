import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DavServer } from '../../../src/agent/testing/dav-server.ts';
import { NatsDirector } from '../../../src/agent/testing/nats-director.ts';
import { TestNatsServer } from '../../../src/agent/testing/nats-server.ts';
import { openStemcell } from '../../../src/bosh/stemcell/open-stemcell.ts';
import { packRelease } from '../../../src/bosh/release/pack-release.ts';
import { checkout } from '../../support/embedded-environment.ts';
import { DirectorBlobstore, type Json } from './director-blobstore.ts';
import { HealthMonitor } from './health-monitor.ts';
import { ReleaseOfJob } from './release-of-job.ts';
import { ScriptedDeployment } from './scripted-deployment.ts';
import { ScriptedDirector } from './scripted-director.ts';

export interface DirectorSetupOptions {
  /** Where NATS and the blobstore listen. The VMs reach it. */
  readonly address?: string;
  readonly hasSignedUrls?: boolean;
  /** The pause between two get_task; a short one by default, that of a director is a second. */
  readonly pollMs?: number;
  readonly out?: (line: string) => void;
}

export interface DeploymentPlan {
  /** Calls a CPI whose `agent.mbus` is `busUrl`. */
  readonly cpi: (method: string, ...args: readonly unknown[]) => Promise<unknown>;
  /** The path of the light stemcell. */
  readonly stemcell: string;
  readonly vmProperties?: Json;
  readonly diskProperties?: Json;
  readonly compilationAddress: string;
  /** Gets a line for each call, instead of that of the setup. */
  readonly out?: (line: string) => void;
}

/** NATS, the blobstore and the health monitor of a scripted director, and what it has uploaded. */
export class DirectorSetup {
  readonly server: TestNatsServer;
  readonly monitor: HealthMonitor;
  /** Removed by `close`. */
  readonly directory: string;
  readonly #bus: NatsDirector;
  readonly #blobstore: DirectorBlobstore;
  readonly #out: (line: string) => void;
  readonly #ends: (() => Promise<void>)[];

  private constructor(
    parts: {
      readonly directory: string;
      readonly server: TestNatsServer;
      readonly monitor: HealthMonitor;
      readonly bus: NatsDirector;
      readonly blobstore: DirectorBlobstore;
      readonly out: (line: string) => void;
    },
    ends: (() => Promise<void>)[],
  ) {
    this.directory = parts.directory;
    this.server = parts.server;
    this.monitor = parts.monitor;
    this.#bus = parts.bus;
    this.#blobstore = parts.blobstore;
    this.#out = parts.out;
    this.#ends = ends;
  }

  static async start({
    address,
    hasSignedUrls = false,
    pollMs,
    out = () => undefined,
  }: DirectorSetupOptions): Promise<DirectorSetup> {
    const directory = await mkdtemp(join(tmpdir(), 'bosh-kubernetes-scripted-'));
    const ends = [(): Promise<void> => rm(directory, { recursive: true })];
    const at = address === undefined ? {} : { address };
    try {
      const server = await TestNatsServer.start(at);
      ends.push(() => server.stop());
      const dav = await DavServer.start(at);
      ends.push(() => dav.close());
      const monitor = await HealthMonitor.connect(server);
      ends.push(() => monitor.close());
      const bus = await NatsDirector.connect(server, pollMs === undefined ? {} : { pollMs });
      ends.push(() => bus.close());
      const blobstore = new DirectorBlobstore(dav, { hasSignedUrls });
      return new DirectorSetup({ directory, server, monitor, bus, blobstore, out }, ends);
    } catch (error) {
      await endAll(ends);
      throw error;
    }
  }

  /** Opens a job of examples/hello's release. */
  hello(): Promise<ReleaseOfJob> {
    return this.#open(join(checkout, 'dist', 'hello-release.tgz'), 'hello');
  }

  /** Opens the errand of the release beside this file. */
  async smoke(): Promise<ReleaseOfJob> {
    const outFile = join(this.directory, 'scripted.tgz');
    await packRelease({ directory: join(import.meta.dirname, 'release'), version: '1', outFile });
    return this.#open(outFile, 'smoke');
  }

  /** Uploads the stemcell and returns a deployment without instances. */
  async deployment({ cpi, stemcell, out = this.#out, ...plan }: DeploymentPlan): Promise<ScriptedDeployment> {
    const director = new ScriptedDirector({
      ...{ server: this.server, bus: this.#bus, blobstore: this.#blobstore },
      ...{ cpi, out },
    });
    const { imagePath, cloudProperties } = await openStemcell({
      ...{ archivePath: stemcell, directory: join(this.directory, 'stemcell'), within: this.directory },
    });
    const stemcellCid = String(await director.cpi('create_stemcell', imagePath, cloudProperties));
    return new ScriptedDeployment({
      ...{ director, blobstore: this.#blobstore, name: 'hello', stemcellCid },
      ...{ vmProperties: {}, diskProperties: {}, ...plan },
    });
  }

  /** Throws if an agent has used a forbidden subject. */
  async assertPermitted(): Promise<void> {
    const violations = await this.server.violations();
    if (violations.length > 0)
      throw new Error(`forbidden subjects of NATS were used:\n${violations.join('\n')}`);
  }

  /** Ends the servers. VMs that are left cannot reach them any more. */
  async close(): Promise<void> {
    await endAll(this.#ends);
  }

  async #open(archivePath: string, job: string): Promise<ReleaseOfJob> {
    const directory = join(this.directory, job);
    await mkdir(directory);
    const release = await ReleaseOfJob.open(archivePath, job, directory);
    this.#ends.push(() => release.close());
    return release;
  }
}

async function endAll(ends: readonly (() => Promise<void>)[]): Promise<void> {
  for (const end of ends.toReversed()) await end();
}
