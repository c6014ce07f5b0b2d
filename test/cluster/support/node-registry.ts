import assert from 'node:assert/strict';
import type { DockerRegistry } from '../../../src/oci/registry/testing/docker-registry.ts';
import type { NodeUnderTest } from './cluster-under-test.ts';

/** Configures a registry's name on a node, as the node's operator does (containerd: docs/hosts.md). */
export async function nameRegistry(
  node: NodeUnderTest,
  name: string,
  { origin, ca }: DockerRegistry,
): Promise<void> {
  const directory = directoryOf(name);
  const hosts = `server = "${origin}"\n[host."${origin}"]\n  capabilities = ["pull", "resolve"]\n  ca = "${directory}/ca.crt"\n`;
  const script = 'mkdir -p "$0" && printf %s "$1" > "$0/ca.crt" && printf %s "$2" > "$0/hosts.toml"';
  await succeed(node, ['sh', '-c', script, directory, ca, hosts]);
}

/** Removes the registry's name and the images that were pulled by it. */
export async function forgetRegistry(node: NodeUnderTest, name: string): Promise<void> {
  await succeed(node, ['rm', '-r', directoryOf(name)]);
  const images = await pulledFrom(node, name);
  if (images.length > 0) await succeed(node, ['ctr', '--namespace', 'k8s.io', 'images', 'rm', ...images]);
}

/** Returns the node's images from that registry. */
export async function pulledFrom(node: NodeUnderTest, name: string): Promise<readonly string[]> {
  const list = ['ctr', '--namespace', 'k8s.io', 'images', 'list', '--quiet'];
  const names = (await succeed(node, list)).split('\n');
  return names.filter((image) => image.startsWith(`${name}/`));
}

const directoryOf = (name: string): string => `/etc/containerd/certs.d/${name}`;

async function succeed(node: NodeUnderTest, command: readonly string[]): Promise<string> {
  const { exitCode, stdout, stderr } = await node.run(command);
  assert.equal(exitCode, 0, `${command.join(' ')} on ${node.name}: ${stderr}`);
  return stdout;
}
