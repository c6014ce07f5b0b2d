import { constants, createReadStream } from 'node:fs';
import { access, open, stat } from 'node:fs/promises';
import { basename, dirname, resolve } from 'node:path';
import { addAbortSignal } from 'node:stream';
import { fileNotFound } from '../../bosh/archive/open-for-reading.ts';
import { notWritable, writeDurably } from '../../deploy/durable-file.ts';
import { ProductError } from '../../errors/product-error.ts';
import { type LoggedCalls, readCalls } from '../../trace/read-calls.ts';
import { notesOf, renderPage, slowestFirst } from '../../trace/render/page.ts';
import { renderSvg, summaryOf, traceMark } from '../../trace/render/svg.ts';
import { formatDuration, isFailed, longestKinds, mainCid, methodText } from '../../trace/render/texts.ts';
import { expandHome, invalidArguments, parseCommandLine } from '../args/parse-command-line.ts';
import type { Command, CommandContext } from '../command.ts';
import { interruptible } from '../interruption.ts';
import { printTable } from '../output/terminal.ts';

const usage = 'FILE|-';
const traceFlags = {
  out: { type: 'string', value: 'FILE', help: 'A page (.html, the default) or a picture (.svg)' },
} as const;
const invalid = invalidArguments(`trace ${usage}`);
const shownCalls = 5;

/** Draws the CPI calls of a log as a page or as a picture, and prints the slowest ones. */
export const trace: Command = {
  name: 'trace',
  usage,
  flags: traceFlags,
  example: 'manifest-state.json.trace --out trace.html',
  summary: 'Draw the CPI calls of a log as a timeline',
  documentation: 'docs/trace.md',
  json: true,
  async run(args, context) {
    const { input, output } = parseTraceArguments(args);
    await assertReplaceable(output);
    const { signal } = context;
    const log = await interruptible(readCalls(textOf(input, signal)), signal, {
      result: 'No timeline was written',
      next: 'run the same command again',
    });
    if (log.calls.length === 0) throw noCalls(input, log);
    const text = output.endsWith('.svg') ? renderSvg(log.calls) : renderPage(log, nameOf(input));
    await writeDurably(output, text, 0o644);
    report(log, context);
    context.terminal.out(`Written to ${output}\n`);
    return 0;
  },
};

interface TraceArguments {
  /** A path, or `-` for stdin. */
  readonly input: string;
  /** An absolute path. */
  readonly output: string;
}

function parseTraceArguments(args: readonly string[]): TraceArguments {
  const { values, positionals } = parseCommandLine(args, traceFlags, invalid);
  const [input, extra] = positionals;
  if (input === undefined || input === '') throw invalid('FILE is missing: the log of CPI calls');
  if (extra !== undefined) throw invalid(`Unexpected argument '${extra}'`);
  const output = values.out === undefined ? `${basename(nameOf(input))}.html` : expandHome(values.out);
  if (!/\.(html|svg)$/u.test(output)) throw invalid('--out must end with .html, for a page, or with .svg');
  return { input: input === '-' ? '-' : resolve(expandHome(input)), output: resolve(output) };
}

const nameOf = (input: string): string => (input === '-' ? 'trace' : basename(input));

/**
 * Throws FILE_EXISTS if the file to write exists and is not the output of this command, and
 * FILE_NOT_WRITABLE if its folder does not exist or cannot be written.
 */
async function assertReplaceable(path: string): Promise<void> {
  try {
    await access(dirname(path), constants.W_OK);
    if ((await stat(path)).isFile()) {
      await using file = await open(path, 'r');
      const { buffer, bytesRead } = await file.read(Buffer.alloc(4096), 0, 4096, 0);
      if (buffer.subarray(0, bytesRead).includes(traceMark)) return;
    }
  } catch (error) {
    const isMissing =
      error instanceof Error && 'path' in error && error.path === path && codeOf(error) === 'ENOENT';
    if (isMissing) return;
    throw notWritable(path, error);
  }
  throw new ProductError(
    'FILE_EXISTS',
    `'${path}' exists and was not written by this command; name another file with --out, or remove it`,
  );
}

/** The log may be a pipe, as of `<(bosh task 7 --cpi)`. */
async function* textOf(input: string, signal: AbortSignal): AsyncGenerator<string> {
  const stream = addAbortSignal(signal, input === '-' ? process.stdin : createReadStream(input));
  stream.setEncoding('utf8');
  try {
    for await (const chunk of stream) yield String(chunk);
  } catch (error) {
    signal.throwIfAborted();
    const code = codeOf(error);
    if (code === 'EISDIR')
      throw new ProductError('FILE_NOT_FOUND', `'${input}' is a directory; name the log`, { cause: error });
    if (code !== 'ENOENT' && code !== 'ENOTDIR' && code !== 'ENAMETOOLONG')
      throw fileNotFound(input, error) ?? error;
    throw new ProductError(
      'FILE_NOT_FOUND',
      `there is no file '${input}'; create-env and up write such a log beside the state file, as <state>.trace`,
      { cause: error },
    );
  }
}

const codeOf = (error: unknown): unknown =>
  error instanceof Error && 'code' in error ? error.code : undefined;

function noCalls(input: string, { unreadable }: LoggedCalls): ProductError {
  const name = input === '-' ? 'the input' : `'${input}'`;
  const problem =
    unreadable === 0
      ? `${name} has no record of a CPI call`
      : `none of the ${unreadable} records of CPI calls in ${name} can be read: they are damaged or of another version`;
  return new ProductError(
    'TRACE_EMPTY',
    `${problem}; give the file <state>.trace of create-env or up, or the output of: bosh task N --cpi`,
  );
}

function report(log: LoggedCalls, { terminal }: CommandContext): void {
  terminal.out(`${summaryOf(log.calls)}.\n`);
  for (const note of notesOf(log)) terminal.out(`${note}\n`);
  printTable(terminal, {
    content: 'slowest calls',
    header: ['Slowest calls', 'Time', 'Longest parts', 'Object', 'Result'],
    rows: slowestFirst(log.calls)
      .slice(0, shownCalls)
      .map((call) => [
        methodText(call),
        formatDuration(call.ms),
        longestKinds(call),
        mainCid(call),
        isFailed(call) ? call.result : 'ok',
      ]),
  });
}
