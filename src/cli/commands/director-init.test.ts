import assert from 'node:assert/strict';
import { cp, mkdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, test, type TestContext } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import { parse, stringify } from 'yaml';
import { embeddedAgentProperties } from '../../bosh/stemcell/stemcell.ts';
import { packLightStemcell } from '../../bosh/stemcell/pack-light-stemcell.ts';
import { scratchDirectory } from '../../bosh/testing/scratch.ts';
import { readDirectorFile } from '../../director/director-directory.ts';
import {
  daemonSets,
  namespaces,
  pods,
  serviceAccounts,
  services,
  storageClasses,
} from '../../kubernetes/resources.ts';
import { volumeAnnotations } from '../../kubernetes/types/storage.ts';
import { withKubernetes } from '../cluster/kubeconfig.ts';
import { forbidden } from '../../kubernetes/testing/api-with.ts';
import { connectWith } from '../testing/connect-with.ts';
import {
  checkout,
  isThere,
  light,
  problemOf,
  startDirectorSetting,
  useAccount,
  type DirectorSetting,
} from '../testing/director-setting.ts';

/**
 * Small files with the names of those in manifests/bosh-deployment, so that these tests do not depend on the
 * content of the real files.
 */
const opsFiles = {
  'cpi.yml': [{ type: 'replace', path: '/vms?', value: { cpu: '500m', memory: 1024 } }],
  'dynamic-network.yml': [],
  'manual-network.yml': [],
  'nodeport.yml': [
    { type: 'replace', path: '/ports?', value: [{ name: 'director', port: 25555, node_port: 32067 }] },
  ],
  'nodeport-uaa.yml': [],
  'nodeport-credhub.yml': [],
  'debian-stemcell.yml': [],
  'static-volumes.yml': [],
  'nats-sync.yml': [],
  'lasting-nats-credentials.yml': [],
};

/** Returns the folder of a package with these files. */
async function smallRoot(t: TestContext): Promise<string> {
  const root = await scratchDirectory(t);
  const manifests = join(root, 'manifests');
  for (const name of ['bosh-deployment', 'cloud-config'])
    await mkdir(join(manifests, name), { recursive: true });
  await cp(join(checkout, 'manifests', 'rbac'), join(manifests, 'rbac'), { recursive: true });
  for (const [name, operations] of Object.entries(opsFiles))
    await writeFile(join(manifests, 'bosh-deployment', name), stringify(operations));
  await writeFile(join(manifests, 'cloud-config', 'any.yml'), 'networks: [{name: default, type: dynamic}]\n');
  return root;
}

const lookup = { randomLabel: () => '', resolve: () => assert.fail('a name was resolved') };

const setting = async (t: TestContext, connect = withKubernetes): Promise<DirectorSetting> =>
  startDirectorSetting(t, {
    root: await smallRoot(t),
    nodes: [{ name: 'node-1' }],
    ports: { connect, lookup },
  });

describe('director init', () => {
  test('prints its attempts and writes a folder that a second run leaves unchanged', async (t) => {
    const { init, directory, kubeconfig } = await setting(t);
    const files = ['vars.yml', 'ops/cpi.yml', 'ops/dynamic-network.yml', 'ops/debian-stemcell.yml'];
    const all = [...files, 'cloud-config.yml', 'commands.sh', 'director.json'];
    const read = (): Promise<string[]> =>
      Promise.all(all.map((path) => readFile(join(directory, path), 'utf8')));

    const { out } = await init(directory);

    const rows = out.split('\n').map((line) => line.split(/ {2,}/u).slice(0, 2).join(': '));
    assert.deepEqual(rows.slice(1, 8), [
      ...['Kubernetes: ok', 'Rights: ok', 'Pod Security: ok', 'Storage class: ok'],
      ...['Fixed addresses: missing', 'Room on nodes: ok', 'Address: ok'],
    ]);
    const first = await read();
    const vars = parse(first[0] ?? '') as Record<string, string>;
    assert.equal(vars['kubernetes_namespace'], 'bosh');
    assert.match(vars['stemcell_sha1'] ?? '', /^sha256:[0-9a-f]{64}$/u);
    for (const path of all) assert.equal((await stat(join(directory, path))).mode & 0o777, 0o600, path);
    const file = await readDirectorFile(directory);
    assert.equal(file?.way, 'tunnel');
    assert.equal(file.address, vars['internal_ip']);
    assert.equal(file.cluster.kubeconfig, kubeconfig);

    await writeFile(join(directory, 'creds.yml'), 'admin_password: secret\n');
    await init(directory);

    const { out: quoted } = await init(`${directory}'s copy`);
    assert.ok(quoted.includes(`Next: bash '${directory}'\\''s copy/commands.sh', or`), quoted);

    assert.deepEqual(await read(), first);
    assert.equal(await readFile(join(directory, 'creds.yml'), 'utf8'), 'admin_password: secret\n');
  });

  test('keeps and names edited files, and writes the others for the new way', async (t) => {
    const { init, directory } = await setting(t);
    await init(directory);
    const edited = '- {type: replace, path: /vms?, value: {cpu: 250m, memory: 512}}\n';
    await writeFile(join(directory, 'ops/cpi.yml'), edited);

    for (const run of [1, 2]) {
      const { out } = await init('--way', 'nodeport', '--address', '192.0.2.11', directory);

      assert.match(
        out,
        /^Kept because they were edited: ops\/cpi\.yml; the options .*; remove a file/mu,
        `run ${run}`,
      );
      assert.equal(await readFile(join(directory, 'ops/cpi.yml'), 'utf8'), edited);
    }
    const vars = await readFile(join(directory, 'vars.yml'), 'utf8');
    assert.match(vars, /^node_address: 192\.0\.2\.11$/mu);
    const outside = { host: '192.0.2.11', director: 32067, credhub: 8844 };
    assert.deepEqual((await readDirectorFile(directory))?.outside, outside);
    const script = await readFile(join(directory, 'commands.sh'), 'utf8');
    assert.match(script, /^bosh create-env .* -o ops\/nodeport\.yml/mu);
  });

  test('prints the stemcell for the VMs of the director, and deploys no other', async (t) => {
    const { init, directory, stemcell, root } = await setting(t);
    const [withOurs = '', older = '', ofVms = ''] = ['ours', 'older', 'vms'].map((name) =>
      join(directory, '..', name, 'stemcell.tgz'),
    );
    for (const path of [withOurs, older, ofVms]) await mkdir(join(path, '..', 'image'), { recursive: true });
    await packLightStemcell({ ...light, cloudProperties: embeddedAgentProperties }, withOurs);
    const { agent } = embeddedAgentProperties;
    await packLightStemcell({ ...light, cloudProperties: { agent } }, older);
    await packLightStemcell({ ...light, operatingSystem: 'ubuntu-noble' }, ofVms);
    const lines = async (): Promise<string[]> =>
      (await readFile(join(directory, 'commands.sh'), 'utf8')).split('\n');

    const both = await init(directory);
    assert.match(both.out, /^Stemcell of VMs +ok +light\/1 of '.*stemcell\.tgz', with upstream's agent$/mu);
    assert.ok((await lines()).includes(`bosh upload-stemcell --fix ${stemcell}`));

    const ours = await init('--stemcell', withOurs, directory);
    assert.match(ours.out, /^Stemcell of VMs +ok +light\/1 of '.*ours\/stemcell\.tgz', with our agent$/mu);
    assert.ok((await lines()).includes(`bosh upload-stemcell --fix ${withOurs}`));

    const none = await init('--stemcell', older, directory);
    assert.match(
      none.out,
      /^Stemcell of VMs +missing +.*older.*does not speak NATS.*stemcell build.*--vm-stemcell FILE/mu,
    );
    const deployment = (await lines()).join('\n').replace(/^[^]*^# 4\./mu, '');
    assert.doesNotMatch(deployment, /upload-stemcell|deploy /u);
    assert.match(deployment, /^echo 'No first deployment: .*--vm-stemcell FILE.* >&2$/mu);

    const two = ['--for', 'kind', '--stemcell', withOurs, '--vm-stemcell', ofVms];
    await cp(
      join(checkout, 'manifests/cloud-config/kind.yml'),
      join(root, 'manifests/cloud-config/kind.yml'),
    );
    await init(...two, directory);
    const script = await lines();
    assert.ok(script.includes(`bosh upload-stemcell --fix ${ofVms}`));
    const loads = script.filter((line) => line.includes(' stemcell load '));
    assert.deepEqual(
      loads.map((line) => line.split(' ').at(-3)),
      [join(withOurs, '..'), join(ofVms, '..')],
    );
    const vars = parse(await readFile(join(directory, 'vars.yml'), 'utf8')) as Record<string, string>;
    assert.deepEqual(
      [vars['stemcell_url'], vars['stemcell_os']],
      [`file://${withOurs}`, 'ubuntu-noble'],
      'the director has its own, and the deployment that of its VMs',
    );
    const ops = /create-env .*/u.exec(script.join('\n'))?.[0] ?? '';
    assert.match(ops, /-o ops\/debian-stemcell\.yml/u, "the director's own decides");

    const wrong = await problemOf(init('--vm-stemcell', older, join(directory, '../other')));
    assert.match(wrong, /^DIRECTOR_NOT_POSSIBLE .*Stemcell of VMs: .*does not speak NATS/u);
    assert.equal(await isThere(join(directory, '../other')), false);
  });

  test('shortens the NATS wait of new VMs, and makes the credentials last longer only on request', async (t) => {
    const { init, directory } = await setting(t);
    const createEnv = async (): Promise<string> =>
      /^.*create-env .*$/mu.exec(await readFile(join(directory, 'commands.sh'), 'utf8'))?.[0] ?? '';
    await init(directory);
    assert.match(await createEnv(), / -o ops\/nats-sync\.yml/u);
    assert.doesNotMatch(await createEnv(), /lasting/u);
    assert.equal(await isThere(join(directory, 'ops/lasting-nats-credentials.yml')), false);
    await init('--lasting-nats-credentials', directory);
    assert.match(await createEnv(), / -o ops\/nats-sync\.yml -o ops\/lasting-nats-credentials\.yml/u);
    assert.ok(await isThere(join(directory, 'ops/lasting-nats-credentials.yml')));
  });

  test('reports missing prerequisites with the remedy, and writes nothing', async (t) => {
    const { init, directory, cluster } = await setting(t);
    const { api } = cluster;
    const ports = [{ name: 'web', port: 80, nodePort: 32067 }];
    const spec = { type: 'NodePort', clusterIP: '127.127.0.50', ports } as const;
    await api.create(services, { metadata: { name: 'web', namespace: 'default' }, spec });
    const direct = ['--way', 'direct', '--internal-cidr', '10.77.0.0/16', '--internal-gw', '10.77.0.1'];
    const cases: readonly (readonly [RegExp, readonly string[]])[] = [
      [
        /Address: 127\.127\.0\.50 is taken by Service default\/web: .* --internal-ip/u,
        ['--internal-ip', '127.127.0.50'],
      ],
      [
        /Address: 10\.1\.1\.1 is not usable as a cluster IP \(.*range.*\): .* --internal-ip/u,
        ['--internal-ip', '10.1.1.1'],
      ],
      [/Node ports: 32067 is taken by Service default\/web: delete/u, ['--way', 'nodeport']],
      [
        /Fixed addresses: .* install it \(\/.*\/docs\/static-ip\.md\), use --static-ip .*, or choose --way tunnel/u,
        [...direct, '--internal-ip', '10.77.0.9'],
      ],
    ];
    for (const [sentence, args] of cases) {
      const problem = await problemOf(init(...args, directory));
      assert.match(problem, /^DIRECTOR_NOT_POSSIBLE Nothing was written\. /u);
      assert.match(problem, sentence);
    }

    const output = await init(
      ...direct,
      '--internal-ip',
      '10.77.0.9',
      '--static-ip',
      join(directory, '../told'),
    );
    assert.match(output.out, /Fixed addresses +ok +static-ip, by --static-ip/u);

    await api.patch(
      { resource: storageClasses, name: 'local' },
      { metadata: { annotations: { [volumeAnnotations.defaultClass]: 'false' } } },
    );
    await api.patch(
      { resource: namespaces, name: 'bosh' },
      { metadata: { labels: { 'pod-security.kubernetes.io/enforce': 'baseline' } } },
    );
    const problem = await problemOf(init(directory));
    assert.match(
      problem,
      /Storage class: no class is the default: kubectl annotate storageclass local .*--static-volumes/u,
    );
    assert.match(
      problem,
      /Pod Security: namespace 'bosh': .* admits only VMs of the profile baseline: .*: kubectl label namespace bosh --overwrite/u,
    );
    assert.equal(await isThere(directory), false);
  });

  test('reports the missing permissions of a user, and the checks that could not run', async (t) => {
    const all = await setting(t);
    const { init, directory } = all;
    await useAccount(all);
    assert.match(
      await problemOf(init(directory)),
      /^INVALID_ARGUMENT You may not list Services: set an address with --internal-ip$/u,
    );
    const nodePort = ['--way', 'nodeport', '--internal-ip', '127.127.0.60'];
    assert.match(
      await problemOf(init(...nodePort, directory)),
      /^INVALID_ARGUMENT You may not list nodes: set an address with --address$/u,
    );

    const problem = await problemOf(init('--internal-ip', '127.127.0.60', directory));

    assert.match(
      problem,
      /^DIRECTOR_NOT_POSSIBLE .*Rights: may not create serviceaccounts\/token in 'bosh', .* and \d+ more: use/u,
    );
    assert.equal(await isThere(directory), false);
  });

  test('what a user may not read is unknown, and no reason to refuse', async (t) => {
    const denied = { ...{ verb: 'create', resource: 'clusterroles' }, group: 'rbac.authorization.k8s.io' };
    const connect = connectWith((api) => ({
      get: (reference) =>
        reference.resource === serviceAccounts || reference.resource === daemonSets
          ? Promise.reject(forbidden('get', reference.resource))
          : api.get(reference),
      dryRunCreate: (resource, object) =>
        resource === services
          ? Promise.reject(forbidden('create', resource))
          : api.dryRunCreate(resource, object),
      review: (resource, object) =>
        isDeepStrictEqual((object as { spec?: object }).spec, { resourceAttributes: denied })
          ? Promise.resolve({ ...object, status: { allowed: false } })
          : api.review(resource, object),
    }));
    const { init, directory } = await setting(t, connect);
    const { out } = await init(directory);
    const unknown =
      /^Rights +unknown +you may not get serviceaccounts in 'bosh', .* need the rights to create clusterroles$/mu;
    assert.match(out, unknown);
    assert.match(
      out,
      /^Address +unknown +you may not create Services, so 127\.\d+\.\d+\.\d+ was not checked$/mu,
    );
    assert.match(
      out,
      /^Fixed addresses +unknown +you may not .*; not needed, networks of VMs are dynamic$/mu,
    );
    assert.ok(await isThere(directory));
    const range = [
      '--internal-cidr',
      '10.77.0.0/16',
      '--internal-gw',
      '10.77.0.1',
      '--internal-ip',
      '10.77.0.9',
    ];
    for (const resource of [pods, services]) {
      const noList = connectWith((api) => ({
        list: (each, query) =>
          each === resource ? Promise.reject(forbidden('list', each)) : api.list(each, query),
      }));
      const direct = await setting(t, noList);
      const { out: table } = await direct.init('--way', 'direct', ...range, '--static-ip', direct.directory);
      assert.match(
        table,
        /^Address +unknown +you may not list the (?:pods|Services) of .*10\.77\.0\.9 was not/mu,
      );
    }
    const other = await init('--namespace', 'default', `${directory}-2`);
    assert.match(other.out, /^Account +unknown +you may not get serviceaccounts in 'default', so/mu);
  });

  test('refuses the folder of another cluster, and invalid arguments', async (t) => {
    const { init, directory } = await setting(t);
    await init(directory);
    const other = await setting(t);

    const problem = await problemOf(init('--kubeconfig', other.kubeconfig, directory));

    assert.match(problem, /^OTHER_CLUSTER The director of '.*' is on .*; nothing was written\./u);
    const direct = ['--way', 'direct', '--internal-cidr', '10.77.0.0/16', '--internal-gw', '10.77.0.1'];
    for (const [sentence, args] of [
      [/--way 'vpn' must be one of tunnel, /u, ['--way', 'vpn']],
      [/10\.78\.0\.9 is not in 10\.77\.0\.0\/16/u, [...direct, '--internal-ip', '10.78.0.9']],
      [/--internal-ip 10\.77\.0\.1 is the gateway/u, [...direct, '--internal-ip', '10.77.0.1']],
      [/--way direct needs --internal-ip/u, ['--way', 'direct']],
      [/--way loadbalancer needs --address/u, ['--way', 'loadbalancer']],
      [/--namespace 'A b' is not a valid/u, ['--namespace', 'A b']],
      [/Name one DIRECTORY/u, ['another']],
    ] as const)
      assert.match(await problemOf(init(...args, directory)), sentence);
  });
});
