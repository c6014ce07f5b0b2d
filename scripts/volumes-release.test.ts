import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chmod, cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test, type TestContext } from 'node:test';
import { parse } from 'yaml';
import { createTemplateRenderer } from '../src/bosh/template/create-template-renderer.ts';
import { readReleaseDirectory } from '../src/bosh/release/release-directory.ts';
import { parseDriverConfig } from '../src/volumes/driver/config.ts';
import { parseLdapSettings } from '../src/volumes/driver/ldap/ldap-settings.ts';

const release = join(import.meta.dirname, '../release/volumes');
const renderer = createTemplateRenderer();
after(() => renderer.close());

interface Spec {
  readonly templates: Readonly<Record<string, string>>;
  readonly properties: Readonly<Record<string, { readonly default?: unknown }>>;
}

/** A template of a job, as a director renders it. */
async function rendered(
  job: string,
  file: string,
  properties: Record<string, unknown> = {},
): Promise<string> {
  const spec = parse(await readFile(join(release, 'jobs', job, 'spec'), 'utf8')) as Spec;
  assert.ok(file === 'monit' || file in spec.templates, file);
  const template = await readFile(
    join(release, 'jobs', job, file === 'monit' ? file : `templates/${file}`),
    'utf8',
  );
  const defaults = Object.entries(spec.properties).map(([name, { default: value }]) => [name, value ?? null]);
  const context = {
    ...{ index: 0, id: '0', az: 'z1', bootstrap: true, job: { name: job }, deployment: 'cf', networks: {} },
    ...{ global_properties: properties, cluster_properties: {}, job_properties: null },
    default_properties: Object.fromEntries(defaults) as Record<string, unknown>,
  };
  const [text] = await renderer.render([{ name: `${job}/${file}`, template, context }]);
  return text ?? '';
}

const configOf = async (job: string, properties?: Record<string, unknown>) =>
  parseDriverConfig((await rendered(job, 'flags.erb', properties)).split('\n').filter((flag) => flag !== ''));

test('the release has its jobs, and each template that a job names', async (t) => {
  const directory = await mkdtemp(join(tmpdir(), 'bosh-kubernetes-volumes-release-'));
  t.after(() => rm(directory, { recursive: true }));
  await cp(release, directory, { recursive: true });
  const sources = join(directory, 'src', 'volume_services');
  await mkdir(sources, { recursive: true });
  for (const name of ['driver.mjs', 'node']) await writeFile(join(sources, name), '');
  const { jobs } = await readReleaseDirectory(directory);
  assert.deepEqual(jobs.map(({ name }) => name).toSorted(), ['nfsv3driver', 'smbdriver']);
});

test('without properties the drivers listen and mount where the old jobs have them', async () => {
  const nfs = await configOf('nfsv3driver');
  assert.equal(nfs.name, 'nfsv3driver');
  const listen = { host: '127.0.0.1', port: 7589 };
  assert.deepEqual(nfs.transport, { kind: 'tcp', listen, specFile: 'json' });
  assert.deepEqual(
    [nfs.driversPath, nfs.mountDir],
    ['/var/vcap/data/voldrivers', '/var/vcap/data/volumes/nfs'],
  );
  const smb = await configOf('smbdriver', { listen_port: 9000, adminPort: 9001, force_noserverino: true });
  assert.deepEqual([smb.name, smb.admin], ['smbdriver', { host: '127.0.0.1', port: 9001 }]);
  assert.deepEqual(smb.forcedFlags, { noserverino: true, nodfs: false });
});

test("the old jobs' certificates and directory of users are the driver's", async () => {
  const tls = { ca_cert: 'CA', server_cert: 'S', server_key: 'K', client_cert: 'C', client_key: 'D' };
  for (const [job, properties] of [
    ['nfsv3driver', { nfsv3driver: { tls } }],
    ['smbdriver', { tls }],
  ] as const) {
    assert.equal((await configOf(job, properties)).tls?.ca, `/var/vcap/jobs/${job}/config/certs/ca.crt`);
    assert.equal(await rendered(job, 'ca.crt.erb', properties), 'CA\n');
  }
  const ldap = {
    ldap_host: 'ldap.example',
    ldap_svc_user: 'cn=a b',
    ldap_svc_password: '$(id)"\'`',
    ldap_user_fqdn: 'dc=c',
  };
  const lines = (await rendered('nfsv3driver', 'ldap.erb', { nfsv3driver: ldap })).trim().split('\n');
  const environment = Object.fromEntries(lines.map((line) => line.split(/=(.*)/su, 2)));
  const faults: string[] = [];
  const settings = parseLdapSettings(environment as Record<string, string>, faults);
  assert.deepEqual(faults, []);
  assert.deepEqual(
    [settings?.url, settings?.serviceUser, settings?.servicePassword, settings?.usersBelow],
    ['ldap://ldap.example:389', 'cn=a b', '$(id)"\'`', 'dc=c'],
  );
  assert.equal((await rendered('nfsv3driver', 'ldap.erb')).trim(), '');
});

test('a job that is disabled has nothing to run', async () => {
  assert.match(await rendered('smbdriver', 'monit'), /check process smbdriver/u);
  assert.equal((await rendered('smbdriver', 'monit', { disable: true })).trim(), '');
});

/** A rendered pre-start on a machine that has these programs and no others. */
async function preStart(t: TestContext, job: string, programs: readonly string[]) {
  const directory = await mkdtemp(join(tmpdir(), 'bosh-kubernetes-pre-start-'));
  t.after(() => rm(directory, { recursive: true }));
  const [bin, host] = [join(directory, 'bin'), join(directory, 'host')];
  for (const folder of [bin, host, join(directory, 'config')]) await mkdir(folder);
  // grep: no file system is known to the kernel, so that each module has to come from modprobe
  for (const name of [...programs, 'grep']) {
    await writeFile(join(host, name), `#!/bin/sh\nexit ${name === 'grep' ? 1 : 0}\n`);
    await chmod(join(host, name), 0o755);
  }
  const path = { driver_path: join(directory, 'drivers'), cell_mount_path: join(directory, 'volumes') };
  const properties = job === 'nfsv3driver' ? { nfsv3driver: path } : path;
  await writeFile(join(directory, 'config', 'flags'), await rendered(job, 'flags.erb', properties));
  const script = join(bin, 'pre-start');
  await writeFile(script, await rendered(job, 'pre-start.erb', properties));
  const tools = ['mkdir', 'dirname'].map((name) => `ln -s "$(command -v ${name})" "${host}/${name}"`);
  assert.equal(spawnSync('/bin/sh', ['-c', tools.join(' && ')]).status, 0);
  const { status, stderr } = spawnSync('/bin/bash', [script], { env: { PATH: host }, encoding: 'utf8' });
  return { status, stderr, made: await readdir(directory) };
}

test('pre-start names all that the machine lacks, and makes nothing then', async (t) => {
  const nfs = await preStart(t, 'nfsv3driver', ['rpcbind']);
  assert.equal(nfs.status, 1);
  for (const what of [
    /mount\.nfs .*nfs-common/u,
    /bindfs.*or the job mapfs/u,
    /rpc\.statd/u,
    /kernel module nfs/u,
  ])
    assert.match(nfs.stderr, what);
  assert.doesNotMatch(nfs.stderr, /rpcbind,/u);
  assert.ok(!nfs.made.includes('volumes'));
  const smb = await preStart(t, 'smbdriver', ['modprobe']);
  assert.equal(smb.status, 1);
  assert.match(smb.stderr, /mount\.cifs .*cifs-utils/u);
});

test('pre-start of a machine that has all makes the folders of the driver', async (t) => {
  const smb = await preStart(t, 'smbdriver', ['mount.cifs', 'modprobe']);
  assert.equal(smb.status, 0, smb.stderr);
  assert.ok(smb.made.includes('drivers') && smb.made.includes('volumes'));
});

test('ctl and drain are scripts that a shell can read', async () => {
  for (const job of ['nfsv3driver', 'smbdriver'])
    for (const file of ['ctl.erb', 'drain.erb', 'pre-start.erb']) {
      const { status, stderr } = spawnSync('bash', ['-n'], {
        input: await rendered(job, file),
        encoding: 'utf8',
      });
      assert.equal(status, 0, stderr);
    }
});

test('ctl starts the driver with its flags and the variables of LDAP, whatever characters they have', async (t) => {
  const directory = await mkdtemp(join(tmpdir(), 'bosh-kubernetes-ctl-'));
  t.after(() => rm(directory, { recursive: true }));
  const job = join(directory, 'job');
  await mkdir(join(job, 'bin'), { recursive: true });
  await mkdir(join(job, 'config/certs'), { recursive: true });
  const password = '$(touch x) `id` "\'';
  const properties = {
    nfsv3driver: { ldap_host: 'ldap.example', ldap_svc_password: password, ldap_ca_cert: 'CA' },
  };
  const node = join(directory, 'node');
  await writeFile(node, '#!/bin/sh\nprintf "%s\\n" "$2" "$LDAP_HOST" "$LDAP_SVC_PASS" "$LDAP_CA_CERT"\n');
  await chmod(node, 0o755);
  const ctl = (await rendered('nfsv3driver', 'ctl.erb', properties))
    .replaceAll('/var/vcap/sys', join(directory, 'sys'))
    .replaceAll('/var/vcap/packages/volume_services/bin/node', node);
  await writeFile(join(job, 'bin/ctl'), ctl);
  for (const [file, template] of [
    ['flags', 'flags.erb'],
    ['ldap', 'ldap.erb'],
    ['certs/ldap_ca.crt', 'ldap_ca.crt.erb'],
  ] as const)
    await writeFile(join(job, 'config', file), await rendered('nfsv3driver', template, properties));
  const { status, stderr } = spawnSync('bash', [join(job, 'bin/ctl'), 'start'], { encoding: 'utf8' });
  assert.equal(status, 0, stderr);
  const log = await readFile(join(directory, 'sys/log/nfsv3driver/nfsv3driver.stdout.log'), 'utf8');
  assert.deepEqual(log.trim().split('\n'), ['-name=nfsv3driver', 'ldap.example', password, 'CA']);
});
