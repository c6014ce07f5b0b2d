import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chmod, cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test, type TestContext } from 'node:test';
import { parse } from 'yaml';
import { createTemplateRenderer } from '../src/bosh/template/create-template-renderer.ts';
import { readReleaseDirectory } from '../src/bosh/release/release-directory.ts';
import { applyOperations, readOpsFile } from '../src/bosh/manifest/ops-file.ts';
import { parseYaml } from '../src/bosh/yaml/parse-yaml.ts';
import { toValue } from '../src/bosh/yaml/yaml-node.ts';
import { parseBrokerConfig } from '../src/volumes/broker/config.ts';
import { parseDriverConfig } from '../src/volumes/driver/config.ts';
import { parseLdapSettings } from '../src/volumes/driver/ldap/ldap-settings.ts';

const release = join(import.meta.dirname, '../release/volumes');
const renderer = createTemplateRenderer();
after(() => renderer.close());

interface Spec {
  readonly templates: Readonly<Record<string, string>>;
  readonly properties: Readonly<Record<string, { readonly default?: unknown }>>;
}

type Links = Readonly<Record<string, Readonly<Record<string, unknown>>>>;

/** In front of a template: what a director has for its links. The renderer is create-env's, which has none. */
function linksOf(links: Links): string {
  const json = JSON.stringify(JSON.stringify(links));
  return `<% require 'json'
  def if_link(name)
    properties = JSON.parse(${json})[name] or return
    link = Object.new
    link.define_singleton_method(:p) { |key, default = nil| properties.fetch(key, default) }
    yield link
  end -%>\n`;
}

/** A template of a job, as a director renders it. */
async function rendered(
  job: string,
  file: string,
  properties: Record<string, unknown> = {},
  links: Links = {},
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
  const whole = linksOf(links) + template;
  const [text] = await renderer.render([{ name: `${job}/${file}`, template: whole, context }]);
  return text ?? '';
}

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

test("the old jobs' certificates are the driver's, and mapfs maps ids where the machine has it", async () => {
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
});

test('ctl hands the properties of the directory to the driver as they are, without a shell that reads them', async (t) => {
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
  const { status, stderr } = spawnSync('bash', ['-s', 'start'], { input: script, encoding: 'utf8' });
  assert.equal(status, 0, stderr);
  const told = await readFile(join(jobs, 'log/nfsv3driver/nfsv3driver.stdout.log'), 'utf8');
  const environment = Object.fromEntries(told.split('\0').map((line) => line.split(/=(.*)/su)));
  const faults: string[] = [];
  const settings = parseLdapSettings(environment as Record<string, string>, faults);
  assert.deepEqual(faults, []);
  assert.equal(settings?.servicePassword, ldap.ldap_svc_password);
  assert.deepEqual([settings.url, settings.usersBelow], ['ldap://ldap.example:389', 'cn=Users,dc=example']);
  await assert.rejects(
    rendered('nfsv3driver', 'ldap.erb', { nfsv3driver: { ...ldap, ldap_svc_password: '' } }),
    /ldap_host needs ldap_svc_user, ldap_svc_password/u,
  );
});

test('a job that is disabled has nothing to run', async () => {
  assert.match(await rendered('smbdriver', 'monit'), /check process smbdriver/u);
  assert.equal((await rendered('smbdriver', 'monit', { disable: true })).trim(), '');
});

/** A rendered pre-start on a machine that has these programs and no others. */
async function preStart(t: TestContext, job: string, programs: readonly string[], mode = 0o755) {
  const directory = await mkdtemp(join(tmpdir(), 'bosh-kubernetes-pre-start-'));
  t.after(() => rm(directory, { recursive: true }));
  const [bin, host] = [join(directory, 'bin'), join(directory, 'host')];
  for (const folder of [bin, host, join(directory, 'config')]) await mkdir(folder);
  // grep: no file system is known to the kernel, so that each module has to come from modprobe
  for (const name of [...programs, 'grep']) {
    await writeFile(join(host, name), `#!/bin/sh\nexit ${name === 'grep' ? 1 : 0}\n`);
    await chmod(join(host, name), 0o755);
  }
  const path = {
    driver_path: join(directory, 'drivers'),
    cell_mount_path: join(directory, 'above', 'volumes'),
  };
  await mkdir(join(directory, 'above'));
  await chmod(join(directory, 'above'), mode);
  const properties = job === 'nfsv3driver' ? { nfsv3driver: path } : path;
  await writeFile(join(directory, 'config', 'flags'), await rendered(job, 'flags.erb', properties));
  const script = join(bin, 'pre-start');
  await writeFile(script, await rendered(job, 'pre-start.erb', properties));
  const tools = ['mkdir', 'dirname', 'readlink', 'find'].map(
    (name) => `ln -s "$(command -v ${name})" "${host}/${name}"`,
  );
  assert.equal(spawnSync('/bin/sh', ['-c', tools.join(' && ')]).status, 0);
  const { status, stderr } = spawnSync('/bin/bash', [script], { env: { PATH: host }, encoding: 'utf8' });
  const made = [...(await readdir(directory)), ...(await readdir(join(directory, 'above')))];
  return { status, stderr, made };
}

test('pre-start names all that the machine lacks, and makes nothing then', async (t) => {
  const nfs = await preStart(t, 'nfsv3driver', ['rpcbind']);
  assert.equal(nfs.status, 1);
  const lacks = [/mount\.nfs .*nfs-common/u, /rpc\.statd/u, /kernel module nfs/u, /bindfs/u, /setpriv/u];
  for (const what of lacks) assert.match(nfs.stderr, what);
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
  const programs = ['mount.nfs', 'rpc.statd', 'rpcbind', 'modprobe', 'setpriv', 'bindfs'];
  const nfs = await preStart(t, 'nfsv3driver', programs);
  assert.equal(nfs.status, 0, nfs.stderr);
});

test('pre-start refuses a mount folder that others can move away, and names the chmod', async (t) => {
  for (const job of ['nfsv3driver', 'smbdriver']) {
    const { status, stderr, made } = await preStart(t, job, [], 0o777);
    assert.equal(status, 1);
    assert.match(stderr, /others can write there; run: chmod go-w '.*\/above'/u);
    assert.ok(!made.includes('volumes'));
  }
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

const common = {
  domain: 'sys.example.com',
  app_domain: 'apps.example.com',
  organization: 'system',
  space: 'volume broker',
  username: 'broker',
  password: `geheim "$(id)' 1`,
  volume_id_key: 'k'.repeat(20),
  cf: { client_id: 'push', client_secret: 'geheim-2' },
};
const uaa = {
  uaa_client_id: 'credhub-client',
  uaa_client_secret: 'geheim-3',
  uaa_ca_cert: 'CERTIFICATE of UAA',
};
const nfsBroker = { nfsbrokerpush: { ...common, credhub: uaa } };
const credhubUrl = 'https://credhub.internal:8844';
const smbBroker = { ...common, credhub: { ...uaa, url: credhubUrl, ca_cert: 'CERTIFICATE of CredHub' } };
const credhub = {
  'credhub.internal_url': 'https://credhub.internal',
  'credhub.port': 8844,
  'credhub.ca_certificate': 'CERTIFICATE of CredHub',
};

/** The app of a rendered manifest, and the configuration that the broker reads there. */
async function appOf(job: string, properties: Record<string, unknown>, links?: Links) {
  const { applications } = parse(await rendered(job, 'manifest.yml.erb', properties, links)) as {
    applications: { env: { BROKER_CONFIG: string }; services: string[] }[];
  };
  const [app] = applications;
  assert.ok(app);
  return app;
}

test('the broker of an errand keeps its records in CredHub, as the old one did, or in a bound database', async () => {
  const nfs = await appOf('nfsbrokerpush', nfsBroker, { credhub });
  const smb = await appOf('smbbrokerpush', smbBroker);
  for (const [app, name] of [
    [nfs, 'nfs'],
    [smb, 'smb'],
  ] as const) {
    const config = parseBrokerConfig(app.env.BROKER_CONFIG, { PORT: '8080', VCAP_APPLICATION: '{}' });
    assert.deepEqual(config.auth, { username: 'broker', passwords: [common.password] });
    assert.deepEqual(
      config.offerings.map((offering) => offering.name),
      [name],
    );
    const client = { url: undefined, id: 'credhub-client', secret: 'geheim-3', caFile: 'uaa_ca.crt' };
    const store = {
      url: credhubUrl,
      storeId: `${name}broker`,
      caFile: 'credhub_ca.crt',
      auth: { uaa: client },
    };
    assert.deepEqual(config.store, { credhub: store });
  }
  const own = { database_service: 'volumes-db', encryption_key: 'e'.repeat(20) };
  const bound = await appOf('smbbrokerpush', { ...common, ...own });
  assert.deepEqual(bound.services, ['volumes-db']);
  const credentials = { uri: 'postgres://u:p@db.example.com:5432/volumes' };
  const VCAP_SERVICES = JSON.stringify({ any: [{ name: 'volumes-db', credentials }] });
  const { store } = parseBrokerConfig(bound.env.BROKER_CONFIG, { VCAP_SERVICES, VCAP_APPLICATION: '{}' });
  assert.ok('postgresql' in store && store.postgresql.host === 'db.example.com');
  await assert.rejects(appOf('nfsbrokerpush', nfsBroker), /nowhere to keep its records/u);
  await assert.rejects(appOf('smbbrokerpush', { ...smbBroker, volume_id_key: 'short' }), /at least 20 char/u);
});

/** Runs an errand with a cf that writes down its arguments, and the names of the passwords in its environment. */
async function runErrand(t: TestContext, job: string, properties: Record<string, unknown>, brokers = '') {
  const directory = await mkdtemp(join(tmpdir(), 'bosh-kubernetes-errand-'));
  t.after(() => rm(directory, { recursive: true }));
  const at = (name: string): string => join(directory, name);
  for (const folder of ['bin', 'lib', 'config', 'host', 'tmp']) await mkdir(at(folder));
  await cp(join(release, 'src/volume_services/push-broker'), at('bin/push-broker'));
  for (const file of ['bin/node', 'lib/broker.mjs']) await writeFile(at(file), '');
  const spec = parse(await readFile(join(release, 'jobs', job, 'spec'), 'utf8')) as Spec;
  for (const [template, file] of Object.entries(spec.templates))
    if (file.startsWith('config/'))
      await writeFile(at(file), await rendered(job, template, properties, { credhub }));
  await writeFile(at('brokers'), `name url\n${brokers}`);
  const cf = `#!/bin/bash
say() { printf '%s\\n' "$1" >> ${at('calls')}; }
case $* in
  'push --help') echo '--redact-env'; exit ;;
  stacks) printf 'name description\\ncflinuxfs4 a\\ncflinuxfs3 b\\n'; exit ;;
  service-brokers) cat ${at('brokers')}; exit ;;
  'service '*) exit 1 ;;
esac
say "$*"
[ -z "\${CF_PASSWORD:-}" ] || printf %s "$CF_PASSWORD" > ${at('cf-password')}
[ -z "\${CF_BROKER_PASSWORD:-}" ] || printf %s "$CF_BROKER_PASSWORD" > ${at('broker-password')}
while [ $# -gt 0 ]; do [ "$1" != -p ] || say "files: $(ls "$2" | tr '\\n' ' ')"; shift; done
`;
  await writeFile(at('host/cf'), cf);
  await chmod(at('host/cf'), 0o755);
  const { status, stderr, stdout } = spawnSync(at('bin/push-broker'), [at('config')], {
    env: { PATH: `${at('host')}:${process.env['PATH'] ?? ''}`, TMPDIR: at('tmp') },
    encoding: 'utf8',
  });
  assert.equal(status, 0, stderr);
  assert.deepEqual(await readdir(at('tmp')), [], 'tokens of cf are left');
  const calls = (await readFile(at('calls'), 'utf8')).replaceAll(directory, '').trim().split('\n');
  const told = await Promise.all(
    ['cf-password', 'broker-password'].map((name) => readFile(at(name), 'utf8')),
  );
  return { calls, told, output: stdout + stderr };
}

test('an errand pushes the broker, registers it, and opens it where it is new; no password is an argument', async (t) => {
  const { calls, told, output } = await runErrand(t, 'nfsbrokerpush', nfsBroker);
  const push = calls.findIndex((call) => call.startsWith('push '));
  assert.deepEqual(calls.slice(0, push), [
    'api https://api.sys.example.com',
    'auth --client-credentials',
    'create-org system',
    'target -o system',
    'create-space volume broker',
    'target -o system -s volume broker',
    'create-security-group credhub_open /config/security_group.json',
    'update-security-group credhub_open /config/security_group.json',
    'bind-security-group credhub_open system --space volume broker',
  ]);
  assert.match(
    calls[push] ?? '',
    /^push nfsbroker -f \/config\/manifest\.yml -p .* -s cflinuxfs4 --redact-env$/u,
  );
  assert.deepEqual(calls.slice(push + 1), [
    'files: broker.mjs credhub_ca.crt node uaa_ca.crt ',
    'create-service-broker nfsbroker broker https://nfsbroker.apps.example.com',
    'enable-service-access nfs -b nfsbroker',
  ]);
  assert.deepEqual(told, ['geheim-2', common.password]);
  for (const text of [calls.join('\n'), output]) assert.doesNotMatch(text, /geheim/u);
});

test('an errand updates a broker that is registered, and leaves access as it is', async (t) => {
  const user = { cf: { admin_user: 'admin', admin_password: 'geheim-4' }, skip_cert_verify: true };
  const properties = { ...smbBroker, ...user, syslog_url: 'syslog://logs.example.com:514' };
  const { calls, told } = await runErrand(t, 'smbbrokerpush', properties, 'smbbroker https://old\n');
  assert.deepEqual(calls.slice(0, 2), ['api https://api.sys.example.com --skip-ssl-validation', 'auth']);
  assert.deepEqual(calls.slice(-3), [
    'create-user-provided-service smbbroker-logger -l syslog://logs.example.com:514',
    'bind-service smbbroker smbbroker-logger',
    'update-service-broker smbbroker broker https://smbbroker.apps.example.com',
  ]);
  assert.deepEqual(told, ['geheim-4', common.password]);
});

test("the ops files find the old releases' jobs in a manifest as cf-deployment makes it", async () => {
  const credhubProperties = { credhub: { url: credhubUrl } };
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
