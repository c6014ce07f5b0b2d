// npm run director:demo: a scripted director deploys examples/hello in two instances on the embedded cluster, with the
// agent of this project, over NATS, and deletes them. The real CPI runs as one process per call.
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { NatsDirector } from '../../../src/agent/testing/nats-director.ts';
import { noNatsServer, TestNatsServer } from '../../../src/agent/testing/nats-server.ts';
import { persistentVolumeClaims, pods, secrets } from '../../../src/kubernetes/resources.ts';
import { checkout, EmbeddedEnvironment, namespace } from '../../support/embedded-environment.ts';
import { DavServer } from '../../../src/agent/testing/dav-server.ts';
import { ReleaseOfJob } from './release-of-job.ts';
import { ScriptedDirector } from './scripted-director.ts';
import { uploadStemcell } from './upload-stemcell.ts';

const out = (line: string): void => void process.stdout.write(`${line}\n`);
const atEnd: (() => Promise<void>)[] = [];

async function deployAndDelete(): Promise<void> {
  const server = await TestNatsServer.start();
  atEnd.push(() => server.stop());
  const dav = await DavServer.start();
  atEnd.push(() => dav.close());
  const bus = await NatsDirector.connect(server);
  atEnd.push(() => bus.close());
  const line = await EmbeddedEnvironment.start({ mbus: server.url });
  atEnd.push(async () => {
    await line.destroy();
    await line.remove();
  });
  const cpi = (method: string, ...args: readonly unknown[]): Promise<unknown> => line.call(method, ...args);
  const director = new ScriptedDirector({ server, bus, dav, cpi, out });
  const scratch = join(line.directory, 'director');
  await mkdir(scratch);
  const stemcellCid = await uploadStemcell(cpi, scratch);
  const release = await ReleaseOfJob.open(join(checkout, 'dist', 'hello-release.tgz'), 'hello', scratch);
  atEnd.push(() => release.close());
  const request = (group: string, index: number, address: string) => ({
    ...{ deployment: 'hello', group, index, stemcellCid, address },
    networks: { default: { type: 'manual', ip: address, netmask: '255.255.255.0', cloud_properties: {} } },
  });
  const compilation = await director.createVm(request('compilation', 0, '127.64.0.9'));
  const packages = await director.compile(compilation, release);
  await director.deleteVm(compilation);
  for (const index of [0, 1]) {
    const address = `127.64.0.${10 + index}`;
    const vm = await director.createVm({ ...request('hello', index, address), diskSize: 64 });
    await director.update(vm, release, packages, { hello: { port: 8080, audience: 'operators' } });
    await director.syncDns();
    const page = await fetch(`http://${address}:8080/`);
    out(`http://${address}:8080/ ${page.status}`);
    if (!page.ok) throw new Error(`instance hello/${index} does not answer`);
  }
  out(`${director.vms.length} instances running`);
  for (const vm of [...director.vms]) await director.deleteVm(vm);
  await cpi('delete_stemcell', stemcellCid);
  await assertNothingLeft(line);
  const violations = await server.violations();
  if (violations.length > 0)
    throw new Error(`forbidden subjects of NATS were used:\n${violations.join('\n')}`);
  out('nothing left');
}

async function assertNothingLeft(line: EmbeddedEnvironment): Promise<void> {
  const api = await line.api();
  for (const resource of [pods, secrets, persistentVolumeClaims]) {
    const { items } = await api.list(resource, { namespace });
    const names = items.map(({ metadata }) => metadata.name);
    if (names.length > 0) throw new Error(`${resource.plural} are left: ${names.join(', ')}`);
  }
}

if (noNatsServer === false) {
  try {
    await deployAndDelete();
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
    process.exitCode = 1;
  } finally {
    for (const end of atEnd.toReversed()) await end();
  }
} else {
  process.stderr.write(`director:demo ${noNatsServer}; install it with: apt-get install nats-server\n`);
  process.exitCode = 1;
}
