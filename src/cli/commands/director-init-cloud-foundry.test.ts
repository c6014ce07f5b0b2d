import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { parse, stringify } from 'yaml';
import { packLightStemcell } from '../../bosh/stemcell/pack-light-stemcell.ts';
import { label } from '../../cpi/objects/labels.ts';
import { readDirectorFile } from '../../director/director-directory.ts';
import { nodes, pods, services, storageClasses } from '../../kubernetes/resources.ts';
import { createTestAuthority } from '../../kubernetes/testing/certificates.ts';
import { withKubernetes } from '../cluster/kubeconfig.ts';
import { forbidden } from '../../kubernetes/testing/api-with.ts';
import { connectWith } from '../testing/connect-with.ts';
import { checkout, isThere, light, problemOf } from '../testing/director-setting.ts';
import {
  address,
  domain,
  highlyAvailable,
  leave,
  nobleStemcell,
  startFoundrySetting as setting,
  zonal,
} from '../testing/foundry-setting.ts';

const opsFilesOf = (command = ''): string[] =>
  [...command.matchAll(/ -o (\S+)/gu)].map(([, path = '']) => path);

/** A vars store with certificates of that domain. */
async function varsStoreOf(systemDomain: string): Promise<string> {
  const authority = await createTestAuthority();
  const certificateOf = async (...dns: string[]): Promise<object> => ({
    certificate: (await authority.server({ dns })).certificate,
  });
  return stringify({
    a: 'b',
    blobstore_public: await certificateOf(`blobstore.${systemDomain}`),
    // an earlier cf-deployment made certificates without a name below the system domain
    credhub_tls: await certificateOf('credhub.service.cf.internal'),
    logcache_ssl: await certificateOf('log-cache'),
    router_ssl: await certificateOf(systemDomain, `*.${systemDomain}`),
  });
}

describe('director init --with cloud-foundry', () => {
  test('writes the files and commands, and its folder has all that they need', async (t) => {
    const { prepare, read, commands, directory, stemcell } = await setting(t);

    const out = await prepare();

    for (const row of [
      'Address of Services +ok +198\\.18\\.0\\.1, of a node',
      'Room for VMs +ok +[\\d.]+ CPU, .* of the free .*',
      'Disks of VMs +ok +local for ephemeral disks',
      'Stemcell of cells +ok +light/1, debian-bookworm',
      `System domain +ok +\\*\\.${domain} resolves to ${address}`,
    ])
      assert.match(out, new RegExp(`^${row}$`, 'mu'));
    const lines = await commands();
    assert.match(
      lines[0] ?? '',
      new RegExp(`doctor --with cloud-foundry --needs vxlan --stemcell ${stemcell}$`, 'u'),
    );
    const deploy = lines.find((line) => line.startsWith('bosh -n -d cf deploy ')) ?? '';
    assert.deepEqual(opsFilesOf(deploy), [
      'cf-deployment/operations/scale-to-one-az.yml',
      'cf-deployment/operations/use-postgres.yml',
      ...['debian-bookworm', 'garden-containerd', 'kernel-parameters', 'sizes', 'system-domain'].map(
        (name) => `cloud-foundry/ops/${name}.yml`,
      ),
    ]);
    const render = lines.find((line) => line.includes(' interpolate ')) ?? '';
    assert.deepEqual(opsFilesOf(render), opsFilesOf(deploy));
    assert.ok(lines.indexOf(render) < lines.findIndex((line) => line.startsWith('bosh ')));
    const named = lines.join(' ').match(/(?<= )cloud-foundry\/\S+/gu) ?? [];
    // a command writes it, from bosh-deployment
    for (const path of named.filter((each) => each !== 'cloud-foundry/dns.yml'))
      assert.ok(await isThere(join(directory, path)), path);
    assert.equal(
      await read('cloud-foundry/ops/sizes.yml'),
      await readFile(join(checkout, 'manifests/cf-deployment/sizes.yml'), 'utf8'),
    );
    const variables = parse(await read('cloud-foundry/vars.yml')) as Record<string, unknown>;
    assert.equal(variables['cell_memory_mb'], 4096);
    assert.equal(variables['system_domain'], domain);
    assert.doesNotMatch(await read('commands.sh'), /hello/u);
  });

  test('takes the files of the stemcell, of one cell, of volume services and of the layout', async (t) => {
    const { prepare, read, commands, directory } = await setting(t, new Map(), zonal);
    const noble = join(directory, '..', 'noble.tgz');
    await packLightStemcell(nobleStemcell, noble);
    const deploy = async (): Promise<string[]> =>
      opsFilesOf((await commands()).find((line) => line.includes(' deploy ')));

    await prepare('--vm-stemcell', noble);
    assert.equal((await deploy())[0], 'cf-deployment/operations/use-compiled-releases.yml');
    assert.match((await commands())[0] ?? '', / --needs vxlan --needs ubuntu-noble --stemcell /u);
    assert.doesNotMatch((await commands()).join('\n'), /debian-bookworm|ops\/dns\.yml/u);

    await prepare('--one-cell', '--volume-services', '--namespace', 'bosh');
    const lines = await commands();
    assert.ok((await deploy()).includes('cloud-foundry/ops/one-cell.yml'));
    assert.deepEqual((await deploy()).slice(-2), [
      'cloud-foundry/ops/replace-volume-drivers.yml',
      'cloud-foundry/ops/replace-volume-brokers.yml',
    ]);
    assert.match(lines[0] ?? '', /--with cloud-foundry --needs volume-services --stemcell/u);
    assert.match(lines.at(-1) ?? '', /run-errand smb-broker-push$/u);

    const out = await prepare(...highlyAvailable);
    assert.match(out, /^Zones +ok +a, b, no$/mu);
    assert.match(
      out,
      /^System domain +missing +api\.cf\.example\.com .* get service cf-router -n bosh shows/mu,
    );
    assert.ok((await deploy()).includes('cloud-foundry/ops/several-cells.yml'));
    assert.match(await read('cloud-foundry/vars.yml'), /^z3_zone: "no"$/mu);
  });

  test('adds to the folder of a director, and keeps its secrets, its state and edits', async (t) => {
    const { init, prepare, read, directory, cluster } = await setting(t);
    await init(directory);
    const owned = { 'creds.yml': 'admin_password: secret\n', 'state.json': '{}\n', 'cf-vars.yml': 'a: b\n' };

    await prepare('--ephemeral-storage-class', 'local');
    for (const [path, text] of Object.entries(owned)) await writeFile(join(directory, path), text);
    await writeFile(join(directory, 'cloud-foundry/ops/sizes.yml'), '# edited\n[]\n');
    const files = ['commands.sh', 'cloud-foundry/vars.yml', 'cloud-foundry/cloud-config.yml'];
    const first = await Promise.all(files.map(read));
    await cluster.api.create(storageClasses, {
      metadata: { name: 'newer' },
      provisioner: 'example.com/disks',
    });
    const { out } = await init('--with', 'cloud-foundry', directory);

    assert.match(
      out,
      /^Kept because they were edited: cloud-foundry\/ops\/sizes\.yml; the options of this run do not change them; /mu,
    );
    assert.deepEqual(await Promise.all(files.map(read)), first);
    for (const [path, text] of Object.entries(owned)) assert.equal(await read(path), text, path);
    assert.equal((await readDirectorFile(directory))?.cloudFoundry?.variables['node_address'], address);

    const problem = await problemOf(prepare(...highlyAvailable));
    assert.match(
      problem,
      /Layout: the Cloud Foundry of this folder has the layout smallest, .* keep --layout smallest, or .*bosh -d cf delete-deployment.* move cf-vars\.yml away/u,
    );
    assert.deepEqual(await Promise.all(files.map(read)), first);
  });

  test('keeps the zones of its disks if other nodes come', async (t) => {
    const { prepare, cluster, read, directory } = await setting(t, new Map(), zonal);
    await prepare(...highlyAvailable);
    await writeFile(join(directory, 'cf-vars.yml'), 'a: b\n');
    const before = await read('cloud-foundry/vars.yml');
    const label0 = { 'topology.kubernetes.io/zone': '0' };
    await cluster.api.patch({ resource: nodes, name: 'node-no' }, { metadata: { labels: label0 } });
    await prepare('--layout', 'highly-available');
    assert.equal(await read('cloud-foundry/vars.yml'), before);
  });

  test('refuses a cluster without room, and counts the VMs of the same Cloud Foundry as room', async (t) => {
    const all = await setting(t);
    const { prepare, directory, cluster } = all;
    await leave(all, 'node-1', { cpu: 3, memory: 14 });

    const problem = await problemOf(prepare());

    assert.match(problem, /^DIRECTOR_NOT_POSSIBLE Nothing was written\. /u);
    assert.match(
      problem,
      /Room for VMs: the layout smallest requests 4\.\d CPU, 2\d\.\d GiB of memory and 108\.1 GiB of disk, and all nodes together have 3 CPU, 14 GiB of memory and .* free: add a node$/u,
    );
    assert.equal(await isThere(directory), false);
    const ofVms = { metadata: { labels: { [label.deployment]: 'cf' } } };
    await cluster.api.patch({ resource: pods, namespace: 'default', name: 'full-node-1' }, ofVms);
    assert.match(await problemOf(prepare()), /Room for VMs/u, 'VMs of another namespace are not its own');
    await cluster.api.delete({ resource: pods, namespace: 'default', name: 'full-node-1' });
    await leave(all, 'node-1', {
      cpu: 3,
      memory: 14,
      labels: { [label.deployment]: 'cf' },
      namespace: 'bosh',
    });
    // its VMs exist, without a vars store
    assert.match(
      await problemOf(prepare()),
      /Layout: a Cloud Foundry is deployed in the namespace 'bosh', /u,
    );
    const named = ['--layout', 'smallest', '--system-domain', domain];
    assert.match(await prepare(...named), /^Vars store +missing .* copy cf-vars\.yml and cf-dns\.yml/mu);
    assert.match((await all.commands())[0] ?? '', /^test -f cf-vars\.yml \|\| \{ echo .* >&2; false; \}$/u);
    assert.match(await problemOf(prepare(...highlyAvailable)), /Layout: /u);
  });

  test('refuses nodes that are too small for a cell, one zone by one', async (t) => {
    const all = await setting(t, new Map(), zonal);
    for (const name of ['node-b', 'node-no']) await leave(all, name, { cpu: 90, memory: 12 });
    assert.match(
      await problemOf(all.prepare(...highlyAvailable)),
      /Room for VMs: no node of zone b has the 4 CPU, 16 GiB .* free that a VM of diego-cell requests, node-b has 90 CPU, 12 GiB .*: add a larger node there, or choose --layout smallest/u,
    );
  });

  test('refuses what the layout needs and the cluster does not have, with the remedy', async (t) => {
    const { prepare, cluster, directory } = await setting(t);
    const [heavy, jammy] = [join(directory, '../heavy.tgz'), join(directory, '../jammy.tgz')];
    await packLightStemcell({ ...light, cloudProperties: { image_reference: null } }, heavy);
    await packLightStemcell({ ...light, operatingSystem: 'ubuntu-jammy' }, jammy);
    const noble = join(directory, '../noble.tgz');
    await packLightStemcell(nobleStemcell, noble);
    const cases: readonly (readonly [RegExp, readonly string[]])[] = [
      [
        /Zones: .* three zones, and no zone was found: label the nodes .*, or choose --layout smallest/u,
        highlyAvailable,
      ],
      [
        /Disks of VMs: .* no storage class 'fast' .* name one of local with --ephemeral-storage-class/u,
        ['--ephemeral-storage-class', 'fast'],
      ],
      [/Stemcell of cells: '.*heavy\.tgz' is heavy.*--vm-stemcell FILE/u, ['--vm-stemcell', heavy]],
      [
        /Stemcell of cells: '.*jammy\.tgz' is of 'ubuntu-jammy'.*--vm-stemcell FILE/u,
        ['--vm-stemcell', jammy],
      ],
      [
        /One cell: one-cell\.yml needs a Debian stemcell: leave out --one-cell/u,
        ['--one-cell', '--vm-stemcell', noble],
      ],
      [
        /Stemcell of cells: .*'ubuntu-noble', which has no programs to mount .*: leave out --volume-services/u,
        ['--volume-services', '--vm-stemcell', noble],
      ],
      [/One cell: the layout highly-available has several cells/u, ['--one-cell', ...highlyAvailable]],
    ];
    for (const [sentence, args] of cases) {
      const problem = await problemOf(prepare(...args));
      assert.match(problem, /^DIRECTOR_NOT_POSSIBLE Nothing was written\. /u);
      assert.match(problem, sentence);
    }
    const annotations = { 'storageclass.kubernetes.io/is-default-class': 'false' };
    await cluster.api.patch({ resource: storageClasses, name: 'local' }, { metadata: { annotations } });
    for (const args of [['--ephemeral-storage-class', 'local'], []])
      assert.match(
        await problemOf(prepare('--static-volumes', ...args)),
        /Disks of VMs: persistent disks need a default storage class/u,
      );
    assert.equal(await isThere(directory), false);
  });

  test('refuses a cluster that rejects the external addresses of Services', async (t) => {
    const { prepare } = await setting(t, new Map(), [{ name: 'node-1' }], withKubernetes);
    assert.match(
      await problemOf(prepare()),
      /Address of Services: the cluster rejects the address 198\.18\.0\.1 of a Service \(.*externalIPs.*\): allow externalIPs of Services, or choose --layout highly-available, which needs nodes in three zones and Services of the type LoadBalancer/u,
    );
  });

  test('does not know whether the cluster accepts the external addresses if the user may create no Service', async (t) => {
    const connect = connectWith((api) => ({
      dryRunCreate: (resource, object) =>
        resource === services
          ? Promise.reject(forbidden('create', resource))
          : api.dryRunCreate(resource, object),
    }));
    const { prepare } = await setting(t, new Map(), [{ name: 'node-1' }], connect);
    assert.match(await prepare(), /^Address of Services +unknown +you may not create Services, so/mu);
  });

  test('names a system domain that does not lead to the node, and goes on, because VMs do not need it', async (t) => {
    const records = new Map([
      ['api.half.example.com', address],
      ['api.other.example.com', '203.0.113.9'],
      ['random.other.example.com', '203.0.113.9'],
    ]);
    const { prepare } = await setting(t, records);
    const remedy = (name: string): string =>
      `only through the tunnel: make a wildcard record \\*\\.${name} for ${address}, or name another domain with --system-domain, such as ${domain}`;
    for (const [name, problem] of [
      ['none.example.com', 'api\\.none\\.example\\.com does not resolve here \\(ENOTFOUND\\)'],
      ['half.example.com', 'random\\.half\\.example\\.com does not resolve here \\(ENOTFOUND\\)'],
      [
        'other.example.com',
        `\\*\\.other\\.example\\.com resolves to 203\\.0\\.113\\.9, and not to ${address}`,
      ],
    ] as const)
      assert.match(
        await prepare('--system-domain', name),
        new RegExp(`^System domain +missing +${problem}, so .* ${remedy(name)}$`, 'mu'),
      );
  });

  test('refuses arguments that contradict each other, before any request', async (t) => {
    const { init, prepare, directory } = await setting(t);
    for (const [sentence, args] of [
      [/--with 'kubecf' must be one of cloud-foundry/u, ['--with', 'kubecf']],
      [/options of Cloud Foundry need --with cloud-foundry/u, ['--one-cell']],
      [
        /--layout 'huge' must be one of smallest, highly-available/u,
        ['--with', 'cloud-foundry', '--layout', 'huge'],
      ],
    ] as const)
      assert.match(await problemOf(init(...args, directory)), sentence);
    for (const wrong of ['*.example.com', 'example', '192.0.2.11', 'Cf.example.com'])
      assert.match(
        await problemOf(prepare('--system-domain', wrong)),
        /--system-domain .* is not a valid domain/u,
      );
    assert.match(
      await problemOf(prepare('--layout', 'highly-available')),
      /highly-available needs --system-domain DOMAIN/u,
    );
    assert.match(
      await problemOf(init('--with', 'cloud-foundry', '--address', 'node.example.com', directory)),
      /'node\.example\.com' is not an IP address: .* name one with --address/u,
    );
    assert.equal(await isThere(directory), false);
  });

  test('refuses a deployed Cloud Foundry that the folder does not know, until layout and domain are named', async (t) => {
    const { init, prepare, read, directory } = await setting(t, new Map(), zonal);
    await init(directory);
    await writeFile(join(directory, 'cf-vars.yml'), await varsStoreOf('cf.example.com'));
    const before = await read('commands.sh');
    for (const args of [[], ['--layout', 'smallest'], ['--system-domain', 'cf.example.com']])
      assert.match(
        await problemOf(prepare(...args)),
        /Layout: .* copy cf-vars\.yml and cf-dns\.yml .*, and name --layout and --system-domain/u,
      );
    assert.match(
      (await init(directory)).out,
      /^Cloud Foundry +missing .* would give the director the cloud-config of examples\/hello: add --with cloud-foundry$/mu,
    );
    assert.equal(await read('commands.sh'), before);

    assert.match(
      await problemOf(prepare('--layout', 'smallest', '--system-domain', 'example.com')),
      /Certificates: .* blobstore_public .* for blobstore\.cf\.example\.com, and not for the system domain example\.com: .* remove blobstore_public, router_ssl from cf-vars\.yml/u,
    );
    const out = await prepare(...highlyAvailable);
    assert.doesNotMatch(out, /^(?:Certificates|Layout|Vars store) /mu);
    assert.doesNotMatch(await read('commands.sh'), /test -f cf-vars/u);
  });

  test('keeps a deployed Cloud Foundry without --with, and names what a run takes from it', async (t) => {
    const { init, prepare, read, directory } = await setting(t);
    await prepare('--one-cell', '--volume-services');
    const prepared = await read('commands.sh');
    await init(directory);
    assert.match(await read('commands.sh'), /^# 4\. A first deployment$/mu, 'it is not deployed');

    await prepare('--one-cell', '--volume-services');
    await writeFile(join(directory, 'cf-vars.yml'), 'a: b\n');
    const { out } = await init('--address', '192.0.2.12', directory);
    assert.match(
      out,
      /^Cloud Foundry +ok +kept, because it is deployed: --layout smallest --one-cell --volume-services$/mu,
    );
    assert.equal(await read('commands.sh'), prepared);
    assert.match(await read('cloud-foundry/vars.yml'), /^node_address: 198\.18\.0\.1$/mu);

    const less = await prepare();
    assert.match(less, /^One cell +missing +the next deployment .* by silk, .* keep it with --one-cell$/mu);
    assert.match(less, /^Volume services +missing +.* keep them with --volume-services$/mu);
    assert.doesNotMatch(await prepare(), /^(?:One cell|Volume services) /mu, 'the folder has neither now');
  });

  test('finds a deployed Cloud Foundry by the pods of the namespace, and says if it may not list them', async (t) => {
    let isAllowedInNamespace = true;
    const connect = connectWith((api) => ({
      list: (resource, query) =>
        resource === pods && !(isAllowedInNamespace && query?.namespace === 'bosh')
          ? Promise.reject(forbidden('list', resource))
          : api.list(resource, query),
    }));
    const all = await setting(t, new Map(), zonal, connect);
    await leave(all, 'node-a', {
      cpu: 90,
      memory: 12,
      labels: { [label.deployment]: 'cf' },
      namespace: 'bosh',
    });
    assert.match(
      (await all.init(all.directory)).out,
      /^Cloud Foundry +missing +it is deployed in the namespace/mu,
    );
    isAllowedInNamespace = false;
    assert.match(
      (await all.init(all.directory)).out,
      /^Cloud Foundry +unknown +you may not list pods in 'bosh', so it is not known whether one is deployed/mu,
    );
  });

  test('refuses another layout if an edited file would stay that of the previous one', async (t) => {
    const { prepare, read, directory } = await setting(t, new Map(), zonal);
    for (const path of ['cloud-foundry/cloud-config.yml', 'cloud-foundry/vars.yml', 'commands.sh']) {
      await prepare('--layout', 'smallest');
      const [written, record] = [await read(path), await read('director.json')];
      await writeFile(join(directory, path), `${written}\n# edited\n`);
      assert.match(
        await problemOf(prepare(...highlyAvailable)),
        new RegExp(`Edited files: ${path} .* layout smallest.* move .*, or keep --layout smallest$`, 'u'),
      );
      assert.equal(await read('director.json'), record);
      await writeFile(join(directory, path), written);
    }
    await prepare(...highlyAvailable);
  });
});
