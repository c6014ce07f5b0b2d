import assert from 'node:assert/strict';
import { chmod, copyFile, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { describe, test, type TestContext } from 'node:test';
import { openStemcell } from '../../src/bosh/stemcell/open-stemcell.ts';
import { packLightStemcell } from '../../src/bosh/stemcell/pack-light-stemcell.ts';
import { openApi } from '../../src/kubernetes/client/rest-api.ts';
import { writeReplacement } from '../director/write-replacement.ts';
import { checkout } from '../support/embedded-environment.ts';
import { leftObjects } from '../support/left-objects.ts';
import { until } from '../support/until.ts';
import { boshCli, withoutBoshCli } from '../support/upstream-programs.ts';
import { runWell } from '../support/run.ts';
import { nodePlans } from './network.ts';
import { runInShell } from './support/page-commands.ts';
import { suiteStemcell } from './support/suite-stemcell.ts';
import { clusterAccess, testCluster, withoutNodes } from './test-cluster.ts';

const own = join(checkout, 'bin', 'bosh-kubernetes.mjs');
const clis = [
  { name: 'bosh-kubernetes', program: undefined, skip: false },
  { name: 'the bosh CLI', program: boshCli(), skip: withoutBoshCli() },
] as const;

const info = 'curl -sS --fail --cacert ca.pem "$BOSH_ENVIRONMENT/info"';

/** An operator's changes for a small machine. init must keep them. */
const edits = `
- type: replace
  path: /resource_pools/name=vms/cloud_properties/cpu
  value: 100m
- type: replace
  path: /resource_pools/name=vms/cloud_properties/memory
  value: 512
- type: replace
  path: /resource_pools/name=vms/cloud_properties/ephemeral_disk/size
  value: 1024
# a node of these clusters cannot pass on what comes for its port to a pod of another node
- type: replace
  path: /resource_pools/name=vms/cloud_properties/node_selector?
  value: {kubernetes.io/hostname: node-1}
- type: replace
  path: /disk_pools/name=disks/disk_size
  value: 1024
`;

describe("director init and the stand-in of a director's releases", () => {
  for (const { name, program, skip } of clis)
    test(
      `commands.sh creates the director by ${name}, through the tunnel alone; a node recreates it by its ClusterIP`,
      { ...(skip !== false && { skip }), ...withoutNodes, timeout: 900_000 },
      async (t) => {
        const operator = await openOperator(t, program);
        await operator.init('--way', 'tunnel');
        const script = await operator.script();
        // The later steps need a director that deploys.
        const lines = commandsOf(script.slice(0, script.indexOf('# 4.')));
        const commands = program === undefined ? lines.filter((line) => line !== 'bosh env') : lines;
        const createEnv = commands.find((line) => line.includes(' create-env ')) ?? '';
        const [throughTunnel = '', message = ''] = createEnv.split(' -- bosh create-env ');
        const enter = (await testCluster().node('node-1').machine.enteringNetwork()).join(' ');

        const printed = await operator.run([
          ...commands,
          'printf %s "$BOSH_CA_CERT" > ca.pem',
          `${info} --proxy "\${BOSH_ALL_PROXY/socks5:/socks5h:}"`,
          `node ${own} tunnel stop --directory .`,
          'unset BOSH_ALL_PROXY',
          `${enter} bosh create-env ${message} --recreate`,
          `${enter} ${info}`,
          `${throughTunnel} -- bosh delete-env ${message}`,
        ]);

        for (const text of [printed.at(-6), printed.at(-2)])
          assert.equal((JSON.parse(text ?? '') as { name: string }).name, 'k8s-director');
        await assertNothingLeft();
      },
    );

  test(
    'the commands of the README, and a node port that leads to the director',
    { ...withoutNodes, timeout: 900_000 },
    async (t) => {
      const operator = await openOperator(t, undefined);
      const [doctor = '', init = '', status = '', ...others] = await readmeCommands();
      assert.match([doctor, init, status].join('\n'), / doctor\n.* director init .*\n.* status /u);
      assert.deepEqual(others, []);
      const [checks = '', plan = ''] = await operator.run([doctor, init]);
      for (const check of ['Kubernetes', 'Clock', 'Storage class', 'Room on nodes'])
        assert.match(checks, new RegExp(`^\\S+ +${check} +ok `, 'mu'));
      assert.match(plan, /^Room on nodes +ok /mu);
      await operator.init('--way', 'nodeport', '--address', nodePlans[0]?.address ?? '');
      const script = await operator.script();
      const commands = commandsOf(script.slice(0, script.indexOf('# 4.'))).filter(
        (line) => line !== 'bosh env',
      );
      const createEnv = commands.find((line) => line.startsWith('bosh create-env ')) ?? '';

      const printed = await operator.run([
        ...commands,
        'printf %s "$BOSH_CA_CERT" > ca.pem',
        `${info}; echo " $BOSH_ENVIRONMENT"`,
        status,
        createEnv.replace('bosh create-env', 'bosh delete-env'),
      ]);

      assert.match(printed.at(-2) ?? '', /^bosh\/bosh\/0 +Running /mu);
      assert.match(printed.at(-3) ?? '', /"name":\s*"k8s-director".* https:\/\/10\.77\.0\.11:32067\n$/su);
      await assertNothingLeft();
    },
  );
});

/** Returns the commands for an operator's own cluster, run by the program of this checkout. */
async function readmeCommands(): Promise<string[]> {
  const text = await readFile(join(checkout, 'README.md'), 'utf8');
  const [, section = ''] = /^## Your own cluster$(.*?)^## /msu.exec(text) ?? [];
  return [...section.matchAll(/^ {4}npx bosh-kubernetes (.*)$/gmu)].map(([, rest]) => `node ${own} ${rest}`);
}

const commandsOf = (script: string): string[] =>
  script.split('\n').filter((line) => line !== '' && !line.startsWith('#'));

interface Operator {
  /** Runs `director init` twice. Changes in between are kept. */
  readonly init: (...args: string[]) => Promise<void>;
  readonly script: () => Promise<string>;
  readonly run: (commands: readonly string[]) => Promise<string[]>;
}

/**
 * Creates a user with its own home directory, whose director directory already contains bosh-deployment's
 * stand-in.
 */
async function openOperator(t: TestContext, program: string | undefined): Promise<Operator> {
  const cluster = testCluster();
  const home = await mkdtemp(join(tmpdir(), 'bosh-kubernetes-director-'));
  const directory = join(home, 'director');
  t.after(async () => {
    const manifests = join(checkout, 'manifests', 'cluster');
    const kubectl = [cluster.kubectl, '--kubeconfig', cluster.layout.kubeconfig];
    await runWell([process.execPath, own, 'tunnel', 'stop', '--directory', directory]);
    await runWell([...kubectl, 'delete', '-k', manifests, '--ignore-not-found']);
    await rm(home, { recursive: true });
  });
  const bosh = join(home, 'bosh');
  await writeFile(bosh, `#!/bin/sh\nexec ${program ?? `node ${own}`} "$@"\n`);
  await chmod(bosh, 0o755);
  await mkdir(join(home, '.kube'));
  await copyFile(cluster.layout.kubeconfig, join(home, '.kube', 'config'));
  const stemcell = await stemcellOfNoble(home, (await suiteStemcell(cluster, 'privileged')).archive);
  const env = {
    PATH: [home, dirname(process.execPath), dirname(cluster.kubectl), process.env['PATH']].join(':'),
    ...{ HOME: home, LANG: 'C.UTF-8', TMPDIR: tmpdir(), KUBECONFIG: cluster.layout.kubeconfig },
  };
  const run = (commands: readonly string[]): Promise<string[]> =>
    runInShell(commands, { script: join(home, 'run.sh'), cwd: home, env, signal: t.signal });
  const init = async (...args: string[]): Promise<void> => {
    const command = `node ${own} director init ${args.join(' ')} --stemcell ${stemcell} ${directory}`;
    await run([command]);
    const ops = join(directory, 'ops', 'cpi.yml');
    await writeFile(ops, `${await readFile(ops, 'utf8')}${edits}`);
    const [table = ''] = await run([command]);
    assert.match(table, /^Kept because they were edited: ops\/cpi\.yml;/mu);
    for (const check of ['Kubernetes', 'Rights', 'Pod Security', 'Storage class', 'Address'])
      assert.match(table, new RegExp(`^${check} +ok `, 'mu'));
    await writeReplacement(join(directory, 'bosh-deployment'));
  };
  return { init, run, script: () => readFile(join(directory, 'commands.sh'), 'utf8') };
}

/**
 * Repacks the image as one of Ubuntu noble, for which releases are compiled. The stand-in has no source
 * releases of upstream.
 */
async function stemcellOfNoble(home: string, archivePath: string): Promise<string> {
  const directory = join(home, 'opened');
  const { cloudProperties, version } = await openStemcell({ archivePath, directory, within: home });
  const { image_reference: imageReference, digest, ...rest } = cloudProperties as Record<string, string>;
  await mkdir(join(home, 'stemcell'));
  const path = join(home, 'stemcell', 'stemcell.tgz');
  await packLightStemcell(
    {
      ...{ name: 'stand-in', version, operatingSystem: 'ubuntu-noble', cloudProperties: rest },
      ...{ imageReference: imageReference ?? '', imageDigest: digest ?? '' },
    },
    path,
  );
  return path;
}

/** Asserts that no VMs, disks and Services, and no Secrets that own them, are left. */
async function assertNothingLeft(): Promise<void> {
  const api = await openApi(await clusterAccess());
  try {
    await until(
      'all objects of the director to go',
      async () => (await leftObjects(api, 'bosh')).length === 0,
    );
  } finally {
    api.close();
  }
}
