import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chmod, cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test, type TestContext } from 'node:test';
import { readReleaseDirectory } from '../src/bosh/release/release-directory.ts';
import { applyOperations, readOpsFile } from '../src/bosh/manifest/ops-file.ts';
import { parseYaml } from '../src/bosh/yaml/parse-yaml.ts';
import { toValue } from '../src/bosh/yaml/yaml-node.ts';
import { parseDriverConfig } from '../src/volumes/driver/config.ts';
import { openCredhub } from '../src/volumes/driver/secrets.ts';
import { parseLdapSettings } from '../src/volumes/driver/ldap.ts';
import { type Links, release, rendered, renderer } from './testing/rendered.ts';

after(() => renderer.close());

const configOf = async (job: string, properties?: Record<string, unknown>, links?: Links) =>
  parseDriverConfig(
    (await rendered(job, 'flags.erb', properties, links)).split('\n').filter((flag) => flag !== ''),
  );

test('the release has its jobs, and each template that a job names', async (t) => {
  const directory = await mkdtemp(join(tmpdir(), 'bosh-kubernetes-volumes-release-'));
  t.after(() => rm(directory, { recursive: true }));
  await cp(release, directory, { recursive: true });
  const sources = join(directory, 'src', 'volume_services');
  await mkdir(sources, { recursive: true });
  for (const name of ['driver.mjs', 'broker.mjs', 'node']) await writeFile(join(sources, name), '');
  const { jobs } = await readReleaseDirectory(directory);
  assert.deepEqual(jobs.map(({ name }) => name).toSorted(), [
    'nfsbrokerpush',
    'nfsv3driver',
    'smbbrokerpush',
    'smbdriver',
  ]);
});

test('without properties the drivers listen and mount at the same paths as the upstream jobs', async () => {
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

test('the driver uses the certificates of the upstream jobs, and mapfs maps ids if the machine has it', async () => {
  const tls = { ca_cert: 'CA', server_cert: 'S', server_key: 'K', client_cert: 'C', client_key: 'D' };
  for (const [job, properties] of [
    ['nfsv3driver', { nfsv3driver: { tls } }],
    ['smbdriver', { tls }],
  ] as const) {
    assert.equal((await configOf(job, properties)).tls?.ca, `/var/vcap/jobs/${job}/config/certs/ca.crt`);
    assert.equal(await rendered(job, 'ca.crt.erb', properties), 'CA\n');
  }
  const links = { mapfs: { path: '/var/vcap/packages/mapfs/bin/mapfs' } };
  const nfs = await configOf('nfsv3driver', {}, links);
  assert.equal(nfs.mapfsPath, '/var/vcap/packages/mapfs/bin/mapfs');
  const server_addresses = '10.0.0.1,10.0.0.2;10.0.1.1, fd00::1';
  const { sameServers } = await configOf('nfsv3driver', { nfsv3driver: { server_addresses } });
  assert.deepEqual(sameServers, [
    ['10.0.0.1', '10.0.0.2'],
    ['10.0.1.1', 'fd00::1'],
  ]);
});

test('both jobs have the properties for signed volumes and for the secrets that they name', async (t) => {
  const directory = await mkdtemp(join(tmpdir(), 'bosh-kubernetes-trust-'));
  t.after(() => rm(directory, { recursive: true }));
  const credhub = {
    ...{ url: 'https://credhub.internal:8844', ca_cert: 'CA', uaa_client_id: 'driver' },
    uaa_client_secret: `a"b\\c`,
  };
  const trust = { signatures: 'require', signature_keys: 'KEYS', secret_files: '/var/vcap/secrets', credhub };
  for (const [job, properties, unset] of [
    ['nfsv3driver', { nfsv3driver: trust }, { nfsv3driver: { signatures: false } }],
    ['smbdriver', trust, { signatures: false }],
  ] as const) {
    const config = `/var/vcap/jobs/${job}/config`;
    const { signatures, signatureKeys, secretFiles, credhub: file } = await configOf(job, properties);
    assert.deepEqual(
      [signatures, signatureKeys, secretFiles, file],
      ['require', `${config}/signature_keys.pem`, '/var/vcap/secrets', `${config}/credhub.json`],
    );
    // YAML parses an unquoted off as false
    assert.equal((await configOf(job, unset)).signatures, 'off');
    assert.equal(await rendered(job, 'signature_keys.pem.erb', properties), 'KEYS\n');
    assert.equal(await rendered(job, 'credhub_ca.crt.erb', properties), 'CA\n');
    const settings = JSON.parse(await rendered(job, 'credhub.json.erb', properties)) as object;
    const ca = join(directory, 'ca.crt');
    await writeFile(ca, 'CA');
    const path = join(directory, `${job}.json`);
    await writeFile(path, JSON.stringify({ ...settings, ca }), { mode: 0o600 });
    assert.equal((await openCredhub(path)).prefix, '/volumes');
    assert.match(JSON.stringify(settings), /"client_secret":"a\\"b\\\\c"/u);
  }
});

test("ctl starts rpcbind if none answers, and passes the directory's properties on unchanged by the shell", async (t) => {
  const ldap = {
    ldap_host: 'ldap.example',
    ldap_svc_user: 'cn=reader',
    ldap_svc_password: `o'k "$(exit 1)" \\ \`x\``,
    ldap_user_fqdn: 'cn=Users,dc=example',
  };
  const jobs = await mkdtemp(join(tmpdir(), 'bosh-kubernetes-ctl-'));
  t.after(() => rm(jobs, { recursive: true }));
  await mkdir(join(jobs, 'certs'));
  const files = { 'flags.erb': 'flags', 'ldap.erb': 'ldap', 'ldap_ca.crt.erb': 'certs/ldap_ca.crt' };
  for (const [file, to] of Object.entries(files))
    await writeFile(join(jobs, to), await rendered('nfsv3driver', file, { nfsv3driver: ldap }));
  const script = (await rendered('nfsv3driver', 'ctl.erb'))
    .replaceAll('/var/vcap/jobs/nfsv3driver/config', jobs)
    .replaceAll('/var/vcap/sys', jobs)
    .replace(/exec .*driver\.mjs "\$\{flags\[@\]\}"/u, 'exec env -0');
  // does not use this machine's rpcbind: the first call finds none running
  const programs = { rpcinfo: `test -e ${jobs}/runs`, rpcbind: `echo start >> ${jobs}/runs` };
  for (const [name, line] of Object.entries(programs))
    await writeFile(join(jobs, name), `#!/bin/sh\n${line}\n`, { mode: 0o755 });
  const env = { PATH: `${jobs}:/usr/bin:/bin` };
  const start = () => spawnSync('bash', ['-s', 'start'], { input: script, encoding: 'utf8', env });
  const { status, stderr } = start();
  assert.equal(status, 0, stderr);
  const log = await readFile(join(jobs, 'log/nfsv3driver/nfsv3driver.stdout.log'), 'utf8');
  const environment = Object.fromEntries(log.split('\0').map((line) => line.split(/=(.*)/su)));
  const problems: string[] = [];
  const settings = parseLdapSettings(environment as Record<string, string>, problems);
  assert.deepEqual(problems, []);
  assert.equal(settings?.servicePassword, ldap.ldap_svc_password);
  assert.deepEqual([settings.url, settings.searchBase], ['ldap://ldap.example:389', 'cn=Users,dc=example']);
  await assert.rejects(
    rendered('nfsv3driver', 'ldap.erb', { nfsv3driver: { ...ldap, ldap_svc_password: '' } }),
    /ldap_host needs ldap_svc_user, ldap_svc_password/u,
  );
  assert.equal(start().status, 0);
  assert.equal(await readFile(join(jobs, 'runs'), 'utf8'), 'start\n');
});

test('a disabled job has no process to run', async () => {
  assert.match(await rendered('smbdriver', 'monit'), /check process smbdriver/u);
  assert.equal((await rendered('smbdriver', 'monit', { disable: true })).trim(), '');
});

interface Machine {
  /** The only programs that the script can call. */
  readonly programs: readonly string[];
  /** The mode of the folder above the mount folder. */
  readonly mode?: number;
  /** The device that replaces /dev/fuse. */
  readonly fuse?: string;
}

/** Renders and runs a pre-start on such a machine. */
async function preStart(
  t: TestContext,
  job: string,
  { programs, mode = 0o755, fuse = '/dev/null' }: Machine,
) {
  const directory = await mkdtemp(join(tmpdir(), 'bosh-kubernetes-pre-start-'));
  t.after(() => rm(directory, { recursive: true }));
  const [bin, host] = [join(directory, 'bin'), join(directory, 'host')];
  for (const path of [bin, host, join(directory, 'config')]) await mkdir(path);
  // grep: the kernel knows no file system, so that each module must be loaded. As in a pod, mount(2) loads
  // the module although it fails
  const known = join(directory, 'known');
  const lines: Record<string, string> = { grep: `test -e ${known}`, mount: `: > ${known}; exit 32` };
  for (const name of [...programs, 'grep'])
    await writeFile(join(host, name), `#!/bin/sh\n${lines[name] ?? 'exit 0'}\n`, { mode: 0o755 });
  const path = {
    driver_path: join(directory, 'drivers'),
    cell_mount_path: join(directory, 'above', 'volumes'),
  };
  await mkdir(join(directory, 'above'));
  await chmod(join(directory, 'above'), mode);
  const properties = job === 'nfsv3driver' ? { nfsv3driver: path } : path;
  await writeFile(join(directory, 'config', 'flags'), await rendered(job, 'flags.erb', properties));
  const script = join(bin, 'pre-start');
  await writeFile(script, (await rendered(job, 'pre-start.erb', properties)).replaceAll('/dev/fuse', fuse));
  const tools = ['mkdir', 'dirname', 'readlink', 'find', 'mktemp', 'rmdir'].map(
    (name) => `ln -s "$(command -v ${name})" "${host}/${name}"`,
  );
  assert.equal(spawnSync('/bin/sh', ['-c', tools.join(' && ')]).status, 0);
  const { status, stderr } = spawnSync('/bin/bash', [script], { env: { PATH: host }, encoding: 'utf8' });
  const made = [...(await readdir(directory)), ...(await readdir(join(directory, 'above')))];
  return { status, stderr, made };
}

test('pre-start names all missing prerequisites of the machine, and then creates nothing', async (t) => {
  const nfs = await preStart(t, 'nfsv3driver', { programs: ['rpcbind'], fuse: '/dev/none' });
  assert.equal(nfs.status, 1);
  const lacks = [
    /mount\.nfs .*nfs-common/u,
    /rpc\.statd/u,
    /kernel module nfs/u,
    /bindfs/u,
    /setpriv/u,
    /\/dev\/none/u,
  ];
  for (const what of lacks) assert.match(nfs.stderr, what);
  assert.doesNotMatch(nfs.stderr, /rpcbind,/u);
  assert.ok(!nfs.made.includes('volumes'));
  const smb = await preStart(t, 'smbdriver', { programs: ['modprobe'] });
  assert.equal(smb.status, 1);
  assert.match(smb.stderr, /mount\.cifs .*cifs-utils/u);
  assert.doesNotMatch(smb.stderr, /kernel module/u);
  const bare = await preStart(t, 'smbdriver', { programs: ['mount.cifs'] });
  assert.match(bare.stderr, /kernel module cifs; run .*on its node: modprobe cifs\n/u);
});

test('pre-start creates the directories of the driver on a machine with all prerequisites', async (t) => {
  const smb = await preStart(t, 'smbdriver', { programs: ['mount.cifs', 'modprobe'] });
  assert.equal(smb.status, 0, smb.stderr);
  assert.ok(smb.made.includes('drivers') && smb.made.includes('volumes'));
  const programs = ['mount.nfs', 'rpc.statd', 'rpcbind', 'modprobe', 'setpriv', 'bindfs'];
  const nfs = await preStart(t, 'nfsv3driver', { programs });
  assert.equal(nfs.status, 0, nfs.stderr);
});

test('pre-start accepts a pod without kernel modules, because mount(2) makes the node load them', async (t) => {
  const smb = await preStart(t, 'smbdriver', { programs: ['mount.cifs', 'mount'] });
  assert.equal(smb.status, 0, smb.stderr);
  const programs = ['mount.nfs', 'rpc.statd', 'rpcbind', 'mount', 'setpriv', 'bindfs'];
  const nfs = await preStart(t, 'nfsv3driver', { programs });
  assert.equal(nfs.status, 0, nfs.stderr);
});

test('pre-start refuses a /dev/fuse that is not open to every user', async (t) => {
  if (process.geteuid?.() !== 0) return t.skip('needs root, to make a device');
  const directory = await mkdtemp(join(tmpdir(), 'bosh-kubernetes-fuse-'));
  t.after(() => rm(directory, { recursive: true }));
  const fuse = join(directory, 'fuse');
  assert.equal(spawnSync('mknod', ['-m', '600', fuse, 'c', '1', '3']).status, 0);
  const programs = ['mount.nfs', 'rpc.statd', 'rpcbind', 'modprobe', 'setpriv', 'bindfs'];
  const { status, stderr } = await preStart(t, 'nfsv3driver', { programs, fuse });
  assert.equal(status, 1);
  assert.match(stderr, /fuse is not open to every user.*; run: chmod 666 /u);
});

test('pre-start refuses a mount directory that others can rename, and names the chmod', async (t) => {
  for (const job of ['nfsv3driver', 'smbdriver']) {
    const { status, stderr, made } = await preStart(t, job, { programs: [], mode: 0o777 });
    assert.equal(status, 1);
    assert.match(stderr, /others can write there; run: chmod go-w '.*\/above'/u);
    assert.ok(!made.includes('volumes'));
  }
});

test('ctl, drain and pre-start are valid shell scripts', async () => {
  for (const job of ['nfsv3driver', 'smbdriver'])
    for (const file of ['ctl.erb', 'drain.erb', 'pre-start.erb']) {
      const { status, stderr } = spawnSync('bash', ['-n'], {
        input: await rendered(job, file),
        encoding: 'utf8',
      });
      assert.equal(status, 0, stderr);
    }
});

test('the ops files find the upstream jobs in a manifest from cf-deployment', async () => {
  const credhubProperties = { credhub: { url: 'https://credhub.internal:8844' } };
  const groups = [
    {
      name: 'diego-cell',
      jobs: [
        { name: 'nfsv3driver', release: 'a' },
        { name: 'smbdriver', release: 'b' },
      ],
    },
    {
      name: 'nfs-broker-push',
      jobs: [{ name: 'nfsbrokerpush', release: 'a', properties: { nfsbrokerpush: {} } }],
    },
    {
      name: 'smb-broker-push',
      jobs: [{ name: 'smbbrokerpush', release: 'b', properties: credhubProperties }],
    },
  ];
  const manifest = JSON.stringify({ releases: [], variables: [], instance_groups: groups });
  let document = parseYaml(manifest, 'manifest.yml', 'MANIFEST_INVALID');
  for (const file of ['replace-volume-drivers.yml', 'replace-volume-brokers.yml'])
    document = applyOperations(document, await readOpsFile(join(release, 'operations', file)));
  const made = toValue(document) as { instance_groups: { jobs: { release: string }[] }[] };
  const releases = made.instance_groups.flatMap(({ jobs }) => jobs.map((job) => job.release));
  assert.deepEqual([...new Set(releases)], ['bosh-kubernetes-volumes']);
});
