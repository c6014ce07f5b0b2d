import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { describe, test, type TestContext } from 'node:test';
import {
  type DockerRegistry,
  dockerRegistryIsMissing,
  startDockerRegistry,
} from '../../src/oci/registry/testing/docker-registry.ts';
import { shapeOf } from '../line/readme-screens.ts';
import { checkout } from '../support/embedded-environment.ts';
import { until } from '../support/until.ts';
import { runWell } from '../support/run.ts';
import { network, nodePlans } from './network.ts';
import { nodeUnderTest } from './support/node-under-test.ts';
import { forgetRegistry, nameRegistry } from './support/node-registry.ts';
import { blocksOf, type PageCommand, runInShell } from './support/page-commands.ts';
import { stemcellPackages } from './support/suite-stemcell.ts';
import { testCluster, withoutNodes } from './test-cluster.ts';

const missing = dockerRegistryIsMissing();
const skip = { ...withoutNodes, ...(missing !== false && { skip: missing }) };

/** The page's names for parts of the cluster, and the names here. */
const settings = {
  STORAGE_CLASS: { page: 'standard', here: 'loop-wait' },
  NODE_ADDRESS: { page: '192.0.2.11', here: nodePlans[0]?.address ?? '' },
} as const;
const provisioner = { page: 'csi.example', here: 'loop.csi.bosh-kubernetes.test' };
/** Replacements for the page's fixed address: the network of the pods here. */
const podNetwork = {
  '10.88.0.7': '10.77.100.190',
  '10.88.0.0/16': network.subnet,
  '10.88.0.1': network.controlPlane,
};

/**
 * All machines of these clusters are on one bridge. On it a node cannot forward packets for its port to a pod
 * of another node, because the frame would leave through the port on which it arrived.
 */
const addressOps = `
- type: replace
  path: /resource_pools/name=vms/cloud_properties/node_selector?
  value: {kubernetes.io/hostname: node-1}
`;

describe('docs/your-cluster.md', () => {
  test(
    'its commands print the shown output, by each way to the agent, and nothing remains',
    { ...skip, timeout: 600_000 },
    async (t) => {
      const blocks = blocksOf(await readFile(join(checkout, 'docs', 'your-cluster.md'), 'utf8'));
      const section = (start: string): PageCommand[] =>
        blocks.flatMap(({ heading, commands }) => (heading.startsWith(start) ? commands : []));
      const [byPort, byService, byAddress, ...others] = section('5.');
      const [deleteEnv, ...remove] = section('7.');
      assert.ok(byPort && byService && byAddress && deleteEnv && others.length === 0);
      assert.match(deleteEnv.command, / delete-env /u);
      const deploy = section('6.');
      const main = [
        ...['What you need', '1.', '2.', '3.', '4.'].flatMap(section),
        ...[byPort, ...deploy, deleteEnv],
      ];
      const again = [
        ...[
          ...anotherWay(byService, deploy),
          ...fromNode(await entering('node-1'), [...runsOf(deploy), deleteEnv]),
        ],
        ...[...anotherWay(byAddress, deploy), ...runsOf(deploy), deleteEnv],
      ];
      const shell = await operatorShell(t);
      const outputs = await shell.run([...main, ...again, ...remove].map(({ command }) => command));
      const assertShown = (commands: readonly PageCommand[], printed: readonly string[]): void => {
        for (const [index, { command, output }] of commands.entries())
          assert.equal(shell.shapeOf(printed[index] ?? ''), shell.shapeOf(output), command);
      };
      assertShown(main, outputs);
      assertShown(remove, outputs.slice(-remove.length));
      const answers = again.flatMap(({ command }, index) =>
        command.includes('curl ') ? (outputs[main.length + index] ?? '') : [],
      );
      assert.equal(answers.length, 2);
      for (const answer of answers) assert.match(answer, /^Hello from BOSH on Kubernetes/u);
      await until('the volumes to go', async () => !(await volumesOf('bosh')));
    },
  );
});

/** Returns the commands for another route to the agent. The kept certificate is for the previous address. */
const anotherWay = (way: PageCommand, deploy: readonly PageCommand[]): PageCommand[] => [
  { command: 'rm "$FOLDER/creds.yml"', output: '' },
  way,
  ...deploy.filter(({ command }) => command.startsWith('FLAGS')),
];

const runsOf = (deploy: readonly PageCommand[]): PageCommand[] =>
  deploy.filter(({ command }) => command.includes(' create-env ') || command.startsWith('curl '));

/** Returns the arguments that run a command in a node's network, in which Service addresses are routed. */
const entering = async (node: string): Promise<string> =>
  (await testCluster().node(node).machine.enteringNetwork()).join(' ');

const fromNode = (text: string, commands: readonly PageCommand[]): PageCommand[] =>
  commands.map(({ command, output }) => ({ command: `${text} ${command}`, output }));

interface OperatorShell {
  readonly run: (commands: readonly string[]) => Promise<string[]>;
  /** Returns the part of the output that is the same in each run, with the page's names. */
  readonly shapeOf: (output: string) => string;
}

/** Creates a user with its own home directory, and a registry from which nodes pull by its users. */
async function operatorShell(t: TestContext): Promise<OperatorShell> {
  const cluster = testCluster();
  const home = await mkdtemp(join(tmpdir(), 'bosh-kubernetes-operator-'));
  t.after(async () => {
    // Left by a failed run.
    const kubectl = [cluster.kubectl, '--kubeconfig', cluster.layout.kubeconfig];
    await runWell([...kubectl, 'delete', '-k', join(checkout, 'manifests', 'rbac'), '--ignore-not-found']);
    await rm(home, { recursive: true });
  });
  const registry = await startDockerRegistry(t, {
    ...{ authentication: 'basic', deletes: false, address: network.controlPlane },
  });
  for (const node of cluster.nodes.map((each) => nodeUnderTest(cluster, each))) {
    await nameRegistry(node, registry.host, registry);
    t.after(() => forgetRegistry(node, registry.host));
  }
  await writeFile(join(home, 'registry-ca.pem'), registry.ca);
  await writeFile(join(home, 'place.yml'), addressOps);
  await writeFile(join(home, 'login.json'), loginOf(registry), { mode: 0o600 });
  const here = (command: string): string => adapted(command, registry);
  const env = {
    PATH: `${dirname(cluster.kubectl)}:${process.env['PATH'] ?? ''}`,
    ...{ HOME: home, LANG: 'C.UTF-8', TMPDIR: tmpdir(), KUBECONFIG: cluster.layout.kubeconfig },
    NODE_EXTRA_CA_CERTS: join(home, 'registry-ca.pem'),
    // All suites share the roots of stemcells, and no mirror is reachable from here.
    XDG_CACHE_HOME: process.env['XDG_CACHE_HOME'] ?? join(process.env['HOME'] ?? '', '.cache'),
  };
  return {
    run: (commands) =>
      runInShell(commands.map(here), { script: join(home, 'page.sh'), cwd: checkout, env, signal: t.signal }),
    shapeOf: (output) => shapeOnPage(output, home, registry),
  };
}

/** Returns true while there is a volume of a claim in that namespace. */
async function volumesOf(namespace: string): Promise<boolean> {
  const { kubectl, layout } = testCluster();
  const claims = '{range .items[*]}{.spec.claimRef.namespace}{"\\n"}{end}';
  const args = ['--kubeconfig', layout.kubeconfig, 'get', 'persistentvolumes', '-o', `jsonpath=${claims}`];
  return (await runWell([kubectl, ...args])).split('\n').includes(namespace);
}

/** Returns a command of the page with the names that are used here. */
function adapted(command: string, { host }: DockerRegistry): string {
  const [, setting = ''] = /^(\w+)=/u.exec(command) ?? [];
  if (setting === 'REGISTRY') return `REGISTRY=${host}`;
  if (setting === 'STORAGE_CLASS' || setting === 'NODE_ADDRESS') {
    const { page, here } = settings[setting];
    assert.equal(command, `${setting}=${page}`);
    return `${setting}=${here}`;
  }
  if (setting === 'WAY') {
    const [way = '', ...more] = Object.entries(podNetwork)
      .reduce((text, [page, here]) => text.replaceAll(page, here), command)
      .split('; ');
    return [way, 'WAY+=(-o ~/place.yml)', ...more].join('; ');
  }
  const asRoot = command.replace(/^sudo /u, '');
  if (!asRoot.includes(' stemcell build ')) return asRoot;
  // The packages of the suites' stemcell (suite-stemcell.ts), whose root is on this machine. A version makes
  // it a distinct image: if it were the same image, nodes would also lose the suites' copy when the
  // registry's copy is removed.
  const flags = stemcellPackages.map((name) => `--include ${name}`).join(' ');
  return `cp ~/login.json "$FOLDER/config.json"; ${asRoot} --version 1.0.0-0123456789ab --offline --without-compilers ${flags}`;
}

/** Returns the login in the format of docker, podman and skopeo. */
function loginOf({ host, credentials: { username, password } }: DockerRegistry): string {
  const auth = Buffer.from(`${username}:${password}`).toString('base64');
  return JSON.stringify({ auths: { [host]: { auth } } });
}

/** Replaces everything that differs between runs and between clusters. */
function shapeOnPage(output: string, home: string, registry: DockerRegistry): string {
  const names: readonly (readonly [string, string])[] = [
    [checkout, '/home/you/bosh-kubernetes'],
    [home, '/home/you'],
    [registry.host, 'registry.example:5000'],
    [provisioner.here, provisioner.page],
    ...Object.values(settings).map(({ here, page }) => [here, page] as const),
  ];
  const named = names.reduce((text, [here, page]) => text.replaceAll(here, page), output);
  return shapeOf(named)
    .replaceAll(/1\.0\.0-[0-9a-f]{12}/gu, 'VERSION')
    .replaceAll(/\b10(?:\.\d+){3}\b/gu, 'ADDRESS')
    .replaceAll(/\bnode-\d\b/gu, 'NODE')
    .replaceAll(/(?<= )(?:\d+[dhms])+$/gmu, 'AGE')
    .replaceAll(/ {2,}/gu, '  ');
}
