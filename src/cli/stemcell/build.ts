import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { homedir, tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { formatImageName } from '../../oci/image-reference.ts';
import { ProductError } from '../../errors/product-error.ts';
import { removeTree } from '../../platform/remove-tree.ts';
import { shellWord } from '../../platform/shell-word.ts';
import { architectureOf, assertAgentRunsHere, sourceDateEpoch } from '../../stemcell/build-settings.ts';
import { buildDebianStemcell } from '../../stemcell/build-debian-stemcell.ts';
import { checkProgram } from '../../stemcell/check-program.ts';
import { convertStemcell } from '../../stemcell/convert-stemcell.ts';
import { debianRoot } from '../../stemcell/debian/debian-root.ts';
import { rootRequest } from '../../stemcell/debian/root-request.ts';
import type { PublishedStemcell } from '../../stemcell/write-stemcell.ts';
import { signalGroup } from '../../platform/run-program.ts';
import { assertOutputFree } from '../../stemcell/output-directory.ts';
import type { CommandContext } from '../command.ts';
import { formatTable } from '../output/table.ts';
import { withProgress } from '../output/with-progress.ts';
import { type BuildArguments, type DebianArguments, parseBuildArguments } from './build-arguments.ts';
import { interruptible } from '../interruption.ts';
import { type PushTarget, pushArgs } from './push-arguments.ts';
import { pushLayout } from './push.ts';

/** Runs `stemcell build`: builds an image and the light stemcell that names it. */
export async function buildStemcell(args: readonly string[], context: CommandContext): Promise<number> {
  const parsed = parseBuildArguments(args);
  await assertOutputFree(parsed.output);
  const published = await interruptible(make(parsed, context), context.signal, {
    result: 'No stemcell was built',
    next: 'the same command starts again',
  });
  if (parsed.push !== undefined) await push(published, parsed.push, context);
  context.terminal.out(report(published));
  if (lacksDavcli(parsed)) context.terminal.error(withoutDavcli);
  return 0;
}

/**
 * Returns true if the agent is a given one but bosh-davcli is not. A given agent is upstream's, which uses
 * this program to read and write a director's blobstore.
 */
const lacksDavcli = ({ from }: BuildArguments): boolean =>
  from.kind === 'debian' && from.agent !== undefined && from.davcli === undefined;

const withoutDavcli =
  'The stemcell has no bosh-blobstore-dav, with which the agent reads and writes the blobstore of a director: in VMs of a director ' +
  'the agent would exit at its start and never respond. For such VMs, build it again with --davcli FILE; create-env does not need it';

function make(parsed: BuildArguments, context: CommandContext): Promise<PublishedStemcell> {
  const { from, identity, output } = parsed;
  if (from.kind === 'debian') return fromDebian(parsed, from, context);
  const epoch = sourceDateEpoch(context.environment['SOURCE_DATE_EPOCH']);
  const { path: source, architecture: requestedArchitecture, reference } = from;
  const architecture = requestedArchitecture ?? architectureOf(process);
  const isArchitectureRequired = requestedArchitecture !== undefined;
  const { signal } = context;
  const warn = (sentence: string): void => context.terminal.error(sentence);
  const layout = { architecture, isArchitectureRequired, reference };
  return withProgress(context.terminal, `Converting '${source}'`, () =>
    convertStemcell({ ...identity, ...layout, source, output, epoch, signal, warn }),
  );
}

/** Pushes the image. If the push fails, the built stemcell is kept. */
async function push(
  { layout }: PublishedStemcell,
  target: PushTarget,
  context: CommandContext,
): Promise<void> {
  try {
    await pushLayout(layout, target, context);
  } catch (error) {
    const args = [dirname(layout), formatImageName(target.image), ...pushArgs(target)];
    const again = `bosh-kubernetes stemcell push ${args.map(shellWord).join(' ')}`;
    context.terminal.error(`The stemcell was built but not pushed. After fixing this, run: ${again}`);
    throw error;
  }
}

async function fromDebian(
  { identity, output }: BuildArguments,
  from: DebianArguments,
  context: CommandContext,
): Promise<PublishedStemcell> {
  const { environment, signal, terminal } = context;
  const architecture = architectureOf(process);
  // Check this before mmdebstrap runs for a minute.
  if (from.agent === undefined) assertAgentRunsHere(process);
  for (const path of [from.agent, from.monit, from.davcli])
    if (path !== undefined) await checkProgram(path, architecture);
  const request = rootRequest({ ...from, epoch: sourceDateEpoch(environment['SOURCE_DATE_EPOCH']) });
  const cache = {
    directory: cacheDirectory(environment),
    isOffline: from.isOffline,
    architecture,
    log: (line: string) => terminal.error(line),
  };
  const scratch = await mkdtemp(join(tmpdir(), 'bosh-kubernetes-stemcell-'));
  try {
    const root = await withProgress(terminal, `Installing the packages of ${from.suite}`, () =>
      debianRoot(request, cache, { signal, environment, user: process.geteuid?.() }),
    );
    const { agent, notice } =
      from.agent === undefined
        ? await withProgress(terminal, 'Building the agent', () => buildAgent(scratch, context))
        : { agent: from.agent, notice: undefined };
    const { epoch } = request;
    const parts = { root, agent, notice, architecture, epoch, isOwnAgent: from.agent === undefined };
    const warn = (sentence: string): void => terminal.error(sentence);
    return await withProgress(terminal, 'Writing the stemcell', () =>
      buildDebianStemcell({ ...identity, ...from, ...parts, output, signal, warn }),
    );
  } finally {
    await removeTree(scratch, { within: tmpdir() });
  }
}

function report({ name, version, image, manifest, layout, archive }: PublishedStemcell): string {
  return formatTable(
    ['Stemcell', `${name}/${version}`],
    [
      ['Image', `${image}@${manifest.digest}`],
      ['OCI layout', layout],
      ['Light stemcell', archive],
    ],
  );
}

/** Returns the directory of cached roots (XDG base directory specification). */
function cacheDirectory(environment: CommandContext['environment']): string {
  const home = environment['XDG_CACHE_HOME'];
  const base = home !== undefined && home.startsWith('/') ? home : join(homedir(), '.cache');
  return join(base, 'bosh-kubernetes', 'stemcells');
}

export interface BuiltAgent {
  readonly agent: string;
  /** File with the licences and notices of the executable's contents. */
  readonly notice: string;
}

/**
 * Returns our agent as one executable: that of the npm package, or one that is built from the sources of this
 * checkout. Rejects with STEMCELL_BUILD_FAILED,
 * which quotes the build's stderr. After an interrupt, rejects with the signal's reason only when the script
 * and the compiler have ended, because they write files until then.
 */
export async function buildAgent(
  directory: string,
  { installation, signal }: Pick<CommandContext, 'installation' | 'signal'>,
): Promise<BuiltAgent> {
  signal.throwIfAborted();
  if (installation.isPackage) return findAgent(installation.root);
  const script = join(installation.root, 'scripts', 'build-agent.ts');
  const agent = join(directory, 'bosh-agent');
  const child = spawn(installation.nodeBinary, [script, agent], {
    stdio: ['ignore', 'ignore', 'pipe'],
    // Create a process group, which also contains the compiler.
    detached: true,
  });
  const interrupt = (): void => {
    if (child.pid !== undefined) signalGroup(child.pid, 'SIGTERM');
  };
  signal.addEventListener('abort', interrupt);
  let stderrEnd = '';
  child.stderr
    .setEncoding('utf8')
    .on('data', (chunk: string) => (stderrEnd = (stderrEnd + chunk).slice(-2000)));
  // A program that cannot be started emits `error` and then also `close`.
  child.on('error', (error) => (stderrEnd += error.message));
  const code = await new Promise<number | null>((done) => child.on('close', done));
  signal.removeEventListener('abort', interrupt);
  signal.throwIfAborted();
  if (code === 0) return { agent, notice: join(directory, 'NOTICE') };
  throw new ProductError('STEMCELL_BUILD_FAILED', `The agent could not be built: ${stderrEnd}`);
}

/** `npm run package` builds the agent if Bun runs on that machine. */
function findAgent(root: string): BuiltAgent {
  const directory = join(root, 'dist', 'agent');
  const agent = join(directory, 'bosh-agent');
  if (existsSync(agent)) return { agent, notice: join(directory, 'NOTICE') };
  throw new ProductError(
    'STEMCELL_BUILD_FAILED',
    'This npm package was made on a machine without Bun for Linux on x86-64, so it contains no agent; name one with --agent FILE',
  );
}
