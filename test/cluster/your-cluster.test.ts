import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test, type TestContext } from 'node:test';
import {
  type DockerRegistry,
  dockerRegistryIsMissing,
  startDockerRegistry,
} from '../../src/oci/registry/testing/docker-registry.ts';
import { checkout } from '../support/embedded-environment.ts';
import { until } from '../support/until.ts';
import { runWell } from '../support/run.ts';
import { network } from './network.ts';
import { nodeUnderTest } from './support/node-under-test.ts';
import { forgetRegistry, nameRegistry } from './support/node-registry.ts';
import {
  type OperatorShell,
  operatorEnvironment,
  removeRoles,
  shapeOnPage,
  withNamesHere,
} from './support/operator-shell.ts';
import { blocksOf, type PageCommand, runInShell } from './support/page-commands.ts';
import { stemcellPackages } from './support/suite-stemcell.ts';
import { testCluster, withoutNodes } from './test-cluster.ts';

const missing = dockerRegistryIsMissing();
const skip = { ...withoutNodes, ...(missing !== false && { skip: missing }) };

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

/** Creates a user with its own home directory, and a registry from which nodes pull by its users. */
async function operatorShell(t: TestContext): Promise<OperatorShell> {
  const cluster = testCluster();
  const home = await mkdtemp(join(tmpdir(), 'bosh-kubernetes-operator-'));
  t.after(async () => {
    // Left by a failed run.
    await removeRoles(cluster);
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
  const env = { ...operatorEnvironment(cluster, home), NODE_EXTRA_CA_CERTS: join(home, 'registry-ca.pem') };
  return {
    run: (commands) =>
      runInShell(commands.map(here), { script: join(home, 'page.sh'), cwd: checkout, env, signal: t.signal }),
    shapeOf: (output) => shapeOnPage(output.replaceAll(registry.host, 'registry.example:5000'), home),
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
  if (command.startsWith('REGISTRY=')) return `REGISTRY=${host}`;
  if (command.startsWith('WAY=')) {
    const [way = '', ...more] = withNamesHere(command).split('; ');
    return [way, 'WAY+=(-o ~/place.yml)', ...more].join('; ');
  }
  const asRoot = withNamesHere(command).replace(/^sudo /u, '');
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
