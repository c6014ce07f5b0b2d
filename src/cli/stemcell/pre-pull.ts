import { stringify } from 'yaml';
import { parseImageReference } from '../../oci/image-reference.ts';
import { architectures } from '../../stemcell/build-settings.ts';
import { prePullManifest, type PrePullRequest } from '../../stemcell/pre-pull-manifest.ts';
import { invalidArguments, parseCommandLine } from '../args/parse-command-line.ts';
import type { CommandContext } from '../command.ts';

export const prePullUsage = 'IMAGE|CID';

export const prePullFlags = {
  namespace: { type: 'string', value: 'NAME', help: 'Namespace of the DaemonSet' },
  'image-pull-secret': {
    type: 'string',
    multiple: true,
    value: 'NAME',
    help: 'Secret with the login of the registry',
  },
} as const;

/** Names of namespaces and Secrets (Kubernetes: DNS subdomain). */
const objectName = /^[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?$/u;

/**
 * Runs `stemcell pre-pull`: prints a manifest for kubectl that makes every node pull a stemcell before a
 * director needs it.
 */
export async function prePull(
  args: readonly string[],
  { terminal }: Pick<CommandContext, 'terminal'>,
): Promise<number> {
  const { values, positionals } = parseCommandLine(args, prePullFlags, invalid);
  const [given, ...others] = positionals;
  if (given === undefined || others.length > 0) throw invalid("'stemcell pre-pull' needs one image");
  const { image, architecture } = parseImageOrCid(given);
  const { namespace, 'image-pull-secret': imagePullSecrets = [] } = values;
  for (const name of [namespace ?? 'default', ...imagePullSecrets])
    if (!objectName.test(name)) throw invalid(`'${name}' is not a valid name of a namespace or Secret`);
  terminal.out(
    stringify(prePullManifest({ image, architecture, namespace, imagePullSecrets }), { lineWidth: 0 }),
  );
  return 0;
}

/**
 * Parses a stemcell's cid: its image, followed by `#<architecture>` if that is known
 * (src/cpi/stemcell/create-stemcell.ts).
 */
function parseImageOrCid(given: string): Pick<PrePullRequest, 'image' | 'architecture'> {
  const [image = '', word, ...more] = given.split('#');
  if (parseImageReference(image) === undefined) throw invalid(`'${image}' is not a valid image reference`);
  const architecture = architectures.find((each) => each === word);
  if (architecture === undefined && word !== undefined)
    throw invalid(`'${given}' does not end with a known architecture`);
  if (more.length > 0) throw invalid(`'${given}' is not a valid stemcell cid`);
  return { image, architecture };
}

const invalid = invalidArguments(`stemcell pre-pull ${prePullUsage}`);
