import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { chmod, mkdir, readFile, readdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { packRelease } from '../../bosh/release/pack-release.ts';
import { packLightStemcell } from '../../bosh/stemcell/pack-light-stemcell.ts';
import { makeServerCertificate } from '../../bosh/testing/certificates.ts';
import type { CreateEnvOptions, EnvPorts } from '../options.ts';
import { FakeAgent } from './fake-agent.ts';
import type { Fault } from './fake-cpi.ts';
import { scratchDirectory } from './scratch.ts';

interface Request {
  readonly method: string;
  readonly arguments: readonly unknown[];
  readonly context: unknown;
  readonly api_version: number;
}

/** A manifest with its releases and stemcell, a fake cloud with an agent, and a directory for all of them. */
export interface TestEnvironment {
  readonly directory: string;
  readonly options: CreateEnvOptions & { readonly statePath: string };
  readonly agent: FakeAgent;
  /** The output and the warnings since the last call. */
  readonly ports: EnvPorts & { readonly output: () => string; readonly warnings: string[] };
  readonly cloud: {
    readonly requests: () => Request[];
    /** Returns the names of the CPI calls except info. */
    readonly calls: () => string[];
    readonly forgetRequests: () => Promise<void>;
    readonly vms: () => string[];
    readonly disks: () => string[];
    readonly attachedDisks: () => string[];
    readonly fail: (fault: Fault) => Promise<void>;
  };
  readonly state: () => Promise<Record<string, unknown>>;
  readonly editManifest: (change: (text: string) => string) => Promise<void>;
}

/**
 * Creating a key pair takes longer than everything else in most tests, so the environments of a process share
 * one.
 */
const certificate = makeServerCertificate();

/** `variables` decides whether the manifest's certificates exist already or are created by the first run. */
export async function testEnvironment(
  t: TestContext,
  { variables }: { readonly variables: 'kept' | 'missing' } = { variables: 'kept' },
): Promise<TestEnvironment> {
  const directory = await scratchDirectory(t);
  const cloud = join(directory, 'cloud');
  await mkdir(cloud);
  const agent = await FakeAgent.start(cloud);
  t.after(() => agent.stop());
  await writeArchives(directory);
  const manifestPath = join(directory, 'manifest.yml');
  await writeFile(manifestPath, manifest({ port: agent.port, cloud }));
  const options = {
    manifestPath,
    statePath: join(directory, 'state.json'),
    workspace: join(directory, 'workspace'),
    varsStorePath: join(directory, 'vars.yml'),
  };
  if (variables === 'kept') {
    const pair = await certificate;
    const store = { mbus_ca: { certificate: pair.ca, ca: pair.ca }, mbus_tls: pair };
    await writeFile(options.varsStorePath, JSON.stringify(store));
  }
  return {
    directory,
    options,
    agent,
    ports: recordingPorts(),
    cloud: cloudIn(cloud),
    state: async () => JSON.parse(await readFile(options.statePath, 'utf8')),
    editManifest: async (change) => writeFile(manifestPath, change(await readFile(manifestPath, 'utf8'))),
  };
}

/**
 * Returns ports that record the output. Ids count up. The clock is real, but no sleep is longer than 20 ms.
 */
function recordingPorts(): TestEnvironment['ports'] {
  let text = '';
  let count = 0;
  let skipped = 0;
  const warnings: string[] = [];
  return {
    write: (part) => void (text += part),
    warn: (message) => void warnings.push(message),
    redact: (written) => written,
    clock: {
      now: () => Date.now() + skipped,
      sleep: async (milliseconds) => {
        const real = Math.min(milliseconds, 20);
        skipped += milliseconds - real;
        await new Promise((resolve) => setTimeout(resolve, real));
      },
    },
    uuid: () => `00000000-0000-4000-8000-${String((count += 1)).padStart(12, '0')}`,
    environment: {
      PATH: process.env['PATH'],
      HOME: process.env['HOME'],
      NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'],
    },
    warnings,
    output: () => {
      const output = text;
      text = '';
      return output;
    },
  };
}

function cloudIn(cloud: string): TestEnvironment['cloud'] {
  const path = join(cloud, 'requests.jsonl');
  const list = (kind: string): string[] => {
    try {
      return readdirSync(join(cloud, kind)).map((file) => file.replace('.json', ''));
    } catch (error) {
      if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return [];
      throw error;
    }
  };
  const requests = (): Request[] =>
    readFileSync(path, 'utf8')
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as Request);
  return {
    requests,
    calls: () => requests().flatMap(({ method }) => (method === 'info' ? [] : [method])),
    forgetRequests: () => writeFile(path, ''),
    vms: () => list('vms'),
    disks: () => list('disks'),
    attachedDisks: () =>
      list('vms').flatMap(
        (vm) =>
          (JSON.parse(readFileSync(join(cloud, 'vms', `${vm}.json`), 'utf8')) as { disks: string[] }).disks,
      ),
    fail: (fault) => writeFile(join(cloud, 'fault.json'), JSON.stringify(fault)),
  };
}

const here = dirname(fileURLToPath(import.meta.url));
const fakeCpi = join(here, 'fake-cpi.ts');
/** The fake CPI starts one process for each call. If Bun is installed, it starts in half the time of Node. */
const bun = join(here, `../../../node_modules/@oven/bun-linux-${process.arch}/bin/bun`);
const runtime = existsSync(bun) ? bun : process.execPath;

async function writeArchives(directory: string): Promise<void> {
  const cpi = join(directory, 'tinycpi');
  await writeFiles(cpi, {
    'config/final.yml': 'name: tinycpi\n',
    'jobs/cpi/spec':
      'name: cpi\ntemplates: {cpi.erb: bin/cpi}\npackages: [runner]\nproperties:\n  runtime: {}\n  cloud: {}\n',
    'jobs/cpi/monit': '',
    'jobs/cpi/templates/cpi.erb':
      '#!/bin/sh\nexec "$BOSH_PACKAGES_DIR/runner/bin/run" <%= p("runtime") %> <%= p("cloud") %>\n',
    'packages/runner/spec': 'name: runner\ndependencies: [base]\nfiles: [run/*]\n',
    'packages/runner/packaging':
      'set -eu\ntest -f "$BOSH_PACKAGES_DIR/base/here"\nmkdir "$BOSH_INSTALL_TARGET/bin"\ncp run/run "$BOSH_INSTALL_TARGET/bin"\n',
    'src/run/run': `#!/bin/sh\nexec "$1" '${fakeCpi}' "$2"\n`,
    'packages/base/spec': 'name: base\nfiles: []\n',
    'packages/base/packaging': 'touch "$BOSH_INSTALL_TARGET/here"\n',
  });
  await chmod(join(cpi, 'src/run/run'), 0o755);
  await packRelease({ directory: cpi, version: '1', outFile: join(directory, 'tinycpi.tgz') });
  await packApp(directory, '1');
  await packLightStemcell(tinyStemcell, join(directory, 'stemcell.tgz'));
}

/** The stemcell that the manifest names. */
export const tinyStemcell = {
  name: 'tiny-stemcell',
  version: '1.0',
  operatingSystem: 'tiny',
  formats: ['fake-format'],
  imageReference: 'tiny-1.0',
};

/** Packs another version of the application's release. */
export async function packApp(
  directory: string,
  version: string,
  monit = 'check process app with pidfile /var/vcap/sys/run/app.pid\n',
): Promise<void> {
  const app = join(directory, 'tinyapp');
  await writeFiles(app, {
    'config/final.yml': 'name: tinyapp\n',
    'jobs/app/spec':
      'name: app\ntemplates: {config.erb: config/app}\npackages: [app]\nproperties:\n  greeting: {default: hi}\n',
    'jobs/app/monit': monit,
    'jobs/app/templates/config.erb': '<%= p("greeting") %> from <%= spec.address %>\n',
    'packages/app/spec': 'name: app\ndependencies: [lib]\nfiles: []\n',
    'packages/app/packaging': 'true\n',
    'packages/lib/spec': 'name: lib\nfiles: []\n',
    'packages/lib/packaging': `true # ${version}\n`,
  });
  await packRelease({ directory: app, version, outFile: join(directory, 'tinyapp.tgz') });
}

async function writeFiles(directory: string, files: Readonly<Record<string, string>>): Promise<void> {
  for (const [path, content] of Object.entries(files)) {
    const target = join(directory, path);
    await mkdir(dirname(target), { recursive: true });
    await writeFile(target, content);
  }
}

/** Returns every file below a directory by its relative path. */
export async function filesBelow(directory: string): Promise<string[]> {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true });
  return entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
}

function manifest({ port, cloud }: { readonly port: number; readonly cloud: string }): string {
  return `---
name: tiny-env
releases:
- {name: tinycpi, url: file://tinycpi.tgz}
- {name: tinyapp, url: file://tinyapp.tgz}
resource_pools:
- name: vms
  network: default
  stemcell: {url: file://stemcell.tgz}
  cloud_properties: {cpu: 1}
  env: {bosh: {mbus: {cert: ((mbus_tls))}}}
disk_pools:
- {name: disks, disk_size: 64, cloud_properties: {type: fast}}
networks:
- name: default
  type: manual
  subnets:
  - {range: 127.0.0.0/8, gateway: 127.0.0.254, dns: [9.9.9.9], cloud_properties: {name: bridge}}
instance_groups:
- name: hello
  instances: 1
  jobs:
  - {name: app, release: tinyapp}
  resource_pool: vms
  persistent_disk_pool: disks
  networks:
  - {name: default, static_ips: [127.0.0.1]}
  properties: {greeting: good day}
update: {update_watch_time: 10-10000}
tags: {team: kcpi}
cloud_provider:
  template: {name: cpi, release: tinycpi}
  mbus: https://mbus:secret@127.0.0.1:${port}
  cert: ((mbus_tls))
  properties: {runtime: '${runtime}', cloud: '${cloud}'}
variables:
- name: mbus_ca
  type: certificate
  options: {is_ca: true, common_name: tiny, key_length: 2048}
- name: mbus_tls
  type: certificate
  options: {ca: mbus_ca, common_name: 127.0.0.1, alternative_names: [127.0.0.1], key_length: 2048}
`;
}
