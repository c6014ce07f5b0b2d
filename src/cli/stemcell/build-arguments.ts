import { resolve } from 'node:path';
import type { ProductError } from '../../errors/product-error.ts';
import { formatImageName, parseImageName } from '../../oci/image-reference.ts';
import { type Architecture, architectures, type Profile, profiles } from '../../stemcell/build-settings.ts';
import type { IdentityRequest } from '../../stemcell/resolve-identity.ts';
import { expandHome, invalidArguments, parseFlags } from '../args/parse-command-line.ts';
import { type PushTarget, parsePushTarget, pushOptions, rejectPushOptions } from './push-arguments.ts';

export const buildUsage = '--from-debian [SUITE]|--from SOURCE --output FOLDER';

export interface BuildArguments {
  readonly from: DebianArguments | SourceArguments;
  readonly output: string;
  readonly identity: IdentityRequest;
  /** The registry to push to. The image gets this name unless another name is given. */
  readonly push: PushTarget | undefined;
}

interface SourceArguments {
  readonly kind: 'source';
  readonly path: string;
  /** Undefined: this machine's architecture. */
  readonly architecture: Architecture | undefined;
  /** The name of an image in an OCI layout directory. */
  readonly reference: string | undefined;
}

export interface DebianArguments {
  readonly kind: 'debian';
  readonly suite: string;
  readonly profile: Profile;
  readonly agent: string | undefined;
  readonly monit: string | undefined;
  /** The path of bosh-davcli, through which upstream's agent reads and writes a director's blobstore. */
  readonly davcli: string | undefined;
  /** True if the image has compilers and headers, which only compilation VMs need. */
  readonly hasCompilers: boolean;
  readonly include: readonly string[];
  readonly mirrors: readonly string[];
  readonly isOffline: boolean;
}

/** Flags of stemcells from Debian packages. */
const debianFlags = {
  'from-debian': { type: 'string', value: '[SUITE]', help: 'Install Debian packages, of bookworm' },
  profile: {
    type: 'string',
    value: 'PROFILE',
    values: profiles,
    help: profiles.join(', '),
  },
  'without-compilers': { type: 'boolean', help: 'Leave out compilers and headers' },
  include: { type: 'string', multiple: true, value: 'PACKAGE', help: 'Another Debian package' },
  mirror: { type: 'string', multiple: true, value: 'MIRROR', help: 'URL, or a line of sources.list' },
  agent: { type: 'string', value: 'FILE', help: 'The agent of bosh instead of ours', isRare: true },
  monit: { type: 'string', value: 'FILE', help: 'The monit of that agent', isRare: true },
  davcli: { type: 'string', value: 'FILE', help: 'The bosh-davcli of that agent', isRare: true },
  offline: { type: 'boolean', help: 'Use only packages of an earlier build' },
} as const;

export const buildFlags = {
  ...debianFlags,
  from: { type: 'string', value: 'SOURCE', help: 'Convert a stemcell, root or OCI layout' },
  architecture: { type: 'string', values: architectures, help: 'Architecture of the source' },
  reference: { type: 'string', value: 'NAME', help: 'Image of an OCI layout that has several', isRare: true },
  output: { type: 'string', value: 'FOLDER', help: 'Where the stemcell is written' },
  name: { type: 'string', value: 'NAME', help: 'Name of the stemcell' },
  version: { type: 'string', value: 'VERSION', help: 'Version of the stemcell' },
  'operating-system': {
    type: 'string',
    value: 'NAME',
    help: 'Operating system of the stemcell',
    isRare: true,
  },
  image: { type: 'string', value: 'IMAGE', help: 'HOST/REPOSITORY:TAG that the stemcell names' },
  push: { type: 'string', value: 'IMAGE', help: 'Also push the image to a registry' },
  ...pushOptions,
} as const;

const patterns = {
  suite: [/^[a-z][a-z0-9-]*$/, 'the name of a Debian suite, such as bookworm'],
  name: [/^[a-z0-9][a-z0-9._-]*$/, 'lowercase letters, digits, dots and dashes'],
  version: [/^[0-9][0-9A-Za-z._-]*$/, 'a version such as 1.2, which is also the tag of the image'],
  'operating system': [/^[a-z0-9][a-z0-9._-]*$/, 'a name such as ubuntu-noble'],
  package: [/^[a-z0-9][a-z0-9+.-]+$/, 'the name of a Debian package'],
  mirror: [/^(deb |https?:\/\/|copy:\/|file:\/)[^\n]+$/, 'a URL or a line of sources.list'],
} as const;

/** Parses the arguments of `stemcell build`. Throws INVALID_ARGUMENT with the problem and the usage. */
export function parseBuildArguments(args: readonly string[]): BuildArguments {
  const values = parseFlags(withSuite(args), buildFlags, invalidArguments(`stemcell build ${buildUsage}`));
  const { from, output, 'from-debian': suite, 'operating-system': operatingSystem, name, version } = values;
  if ((from === undefined) === (suite === undefined))
    throw invalidArgument('needs either --from or --from-debian');
  if (output === undefined) throw invalidArgument('needs --output FOLDER');
  check('name', name);
  check('version', version);
  check('operating system', operatingSystem);
  const push = values.push === undefined ? rejectPushOptions(values) : parsePushTarget(values.push, values);
  const image = values.image === undefined ? push?.image : parseImageName(values.image);
  return {
    from: suite === undefined ? sourceOf(from ?? '', values) : debianOf(suite, values),
    output: resolve(expandHome(output)),
    identity: { name, version, operatingSystem, image: image && formatImageName(image) },
    push,
  };
}

type Values = ReturnType<typeof parseFlags<typeof buildFlags>>;

/** Returns the source of the image. A given root is used unchanged. */
function sourceOf(path: string, values: Values): BuildArguments['from'] {
  const programs = ['agent', 'monit', 'davcli', 'without-compilers', 'include', 'mirror'] as const;
  const others = ['profile', ...programs, 'offline'] as const;
  const foreign = others.find((option) => values[option] !== undefined);
  if (foreign !== undefined) throw invalidArgument(`takes --${foreign} only with --from-debian`);
  return {
    kind: 'source',
    path: resolve(expandHome(path)),
    architecture: requestedArchitecture(values.architecture),
    reference: values.reference,
  };
}

function requestedArchitecture(name: string | undefined): Architecture | undefined {
  const architecture = architectures.find((known) => known === name);
  if (name !== undefined && architecture === undefined)
    throw invalidArgument(`needs one of ${architectures.join(', ')} as --architecture`);
  return architecture;
}

function debianOf(suite: string, values: Values): DebianArguments {
  if (values.architecture !== undefined)
    throw invalidArgument(
      'takes --architecture only with --from: mmdebstrap builds a root for the machine that it runs on',
    );
  if (values.reference !== undefined)
    throw invalidArgument('takes --reference only with --from: it names an image in a layout');
  const { agent, monit, davcli, include = [], mirror: mirrors = [] } = values;
  check('suite', suite);
  for (const name of include) check('package', name);
  for (const mirror of mirrors) checkMirror(mirror);
  if (monit !== undefined && agent === undefined)
    throw invalidArgument('takes --monit only with --agent: our own agent runs jobs itself');
  if (davcli !== undefined && agent === undefined)
    throw invalidArgument("takes --davcli only with --agent: it is a program of upstream's agent");
  const isOffline = values.offline === true;
  return {
    kind: 'debian',
    suite,
    profile: profileOf(values.profile),
    agent: agent && expandHome(agent),
    monit: monit && expandHome(monit),
    davcli: davcli && expandHome(davcli),
    hasCompilers: values['without-compilers'] !== true,
    include,
    mirrors,
    isOffline,
  };
}

/** Adds the default suite, because parseArgs does not support an optional value. */
function withSuite(args: readonly string[]): string[] {
  const at = args.indexOf('--from-debian');
  const suite = args[at + 1];
  if (at === -1 || (suite !== undefined && !suite.startsWith('-'))) return [...args];
  return args.toSpliced(at, 1, '--from-debian=bookworm');
}

function profileOf(name: string | undefined): Profile {
  const profile = profiles.find((known) => known === name);
  if (profile === undefined) throw invalidArgument(`needs --profile, one of ${profiles.join(', ')}`);
  return profile;
}

function check(what: keyof typeof patterns, value: string | undefined): void {
  const [pattern, expected] = patterns[what];
  if (value !== undefined && !pattern.test(value))
    throw invalidArgument(`cannot use '${value}' as ${what}: expected ${expected}`);
}

/**
 * Rejects a mirror with credentials: it is in the image's sources.list, which everyone who may pull the image
 * can read. The error does not quote it, because it may contain a password.
 */
function checkMirror(mirror: string): void {
  if (/:\/\/[^/\s]*@/u.test(mirror))
    throw invalidArgument(
      'does not accept a user or password in --mirror, because they would be published in the image (/etc/apt/sources.list): ' +
        'name a mirror that needs none, such as a proxy or a copy (file:/, copy:/)',
    );
  check('mirror', mirror);
}

const invalidArgument = (problem: string): ProductError =>
  invalidArguments(`stemcell build ${buildUsage}`)(`'stemcell build' ${problem}`);
