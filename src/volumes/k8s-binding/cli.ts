import { readFile } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import { stringify } from 'yaml';
import { ProductError } from '../../errors/product-error.ts';
import { parseVolumeMounts } from '../options/volume-mount.ts';
import type { BindingChoice } from './kubernetes-objects.ts';
import { k8sBindingFlags } from './k8s-binding-flags.ts';
import { volumesOfBinding } from './kubernetes-objects.ts';

const k8sBindingUsage =
  'k8s-binding --namespace NAME [--inline] [--secret NAME] [--run-as-owner] [--patch CONTAINER] [FILE]';

/** The input and output of the command. */
interface K8sBindingPorts {
  readonly out: (text: string) => void;
  readonly input: AsyncIterable<Uint8Array | string>;
}

/**
 * Writes the response to a bind, from the file or stdin, as Kubernetes objects in YAML, with the password in
 * a Secret. With `--patch` it writes the patch that mounts them into a container of a Deployment, or of any
 * other object with a pod template.
 */
export async function runK8sBinding(
  args: readonly string[],
  { out, input }: K8sBindingPorts,
): Promise<number> {
  const { path, choice, container } = parseFlags(args);
  const shares = parseVolumeMounts(path === undefined ? await textOf(input) : await textOfFile(path));
  const { objects, volumes, volumeMounts, identity } = volumesOfBinding(shares, choice);
  if (container === undefined) {
    out(objects.map((object) => stringify(object)).join('---\n'));
    return 0;
  }
  const securityContext = identity === undefined ? {} : { securityContext: identity };
  const containers = [{ name: container, ...securityContext, volumeMounts }];
  out(stringify({ spec: { template: { spec: { containers, volumes } } } }));
  return 0;
}

interface ParsedArgs {
  readonly path: string | undefined;
  readonly choice: BindingChoice;
  readonly container: string | undefined;
}

const objectName = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/u;

function parseFlags(args: readonly string[]): ParsedArgs {
  try {
    const { values, positionals } = parseArgs({
      args: [...args],
      options: k8sBindingFlags,
      strict: true,
      allowPositionals: true,
    });
    const { namespace, secret, patch } = values;
    const names = [namespace, secret, patch].filter((name) => name !== undefined);
    if (namespace !== undefined && positionals.length < 2 && names.every((name) => objectName.test(name))) {
      const choice = {
        ...{ namespace, isInline: values.inline === true, runsAsOwner: values['run-as-owner'] === true },
        ...(secret === undefined ? {} : { secret }),
      };
      const [path] = positionals;
      return { path: path === '-' ? undefined : path, choice, container: patch };
    }
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
  }
  throw new ProductError(
    'INVALID_ARGUMENT',
    `volumes takes: ${k8sBindingUsage}; the names must be valid in Kubernetes`,
  );
}

const maxBytes = 2 ** 20;

async function textOf(input: AsyncIterable<Uint8Array | string>): Promise<string> {
  const parts: Buffer[] = [];
  let size = 0;
  for await (const part of input) {
    const bytes = Buffer.from(part);
    size += bytes.length;
    if (size > maxBytes)
      throw new ProductError('VOLUME_MOUNT_INVALID', 'the response to a bind is longer than 1 MiB');
    parts.push(bytes);
  }
  return Buffer.concat(parts).toString('utf8');
}

async function textOfFile(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    throw new ProductError(
      'FILE_NOT_FOUND',
      `the response to a bind, '${path}', cannot be read; give a file with the response, or no file and the response on stdin`,
      {
        cause: error,
      },
    );
  }
}
