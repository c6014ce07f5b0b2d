import { spawn } from 'node:child_process';
import { ProductError } from '../../../errors/product-error.ts';
import { isRecord } from '../../blob/parse-descriptor.ts';
import type { RegistryCredentials } from './credentials.ts';

const longestAnswer = 1024 * 1024;

export interface CredentialQuery {
  /** The program `docker-credential-<helper>` must be on the PATH. */
  readonly helper: string;
  readonly server: string;
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** An abort sends a signal to the helper, which may be waiting for a person. */
  readonly signal: AbortSignal;
}

/**
 * Runs a credential helper (github.com/docker/docker-credential-helpers): the server on stdin, JSON on
 * stdout. Returns undefined if it has no credentials. Rejects with REGISTRY_UNAUTHORIZED if it cannot be run,
 * fails or prints an invalid answer; its output is not quoted.
 */
export async function runCredentialHelper({
  helper,
  server,
  environment,
  signal,
}: CredentialQuery): Promise<RegistryCredentials | undefined> {
  const program = `docker-credential-${helper}`;
  if (!/^[A-Za-z0-9._-]+$/u.test(helper)) throw failed('a credential helper', 'has a name that is none');
  const child = spawn(program, ['get'], {
    env: { ...environment },
    stdio: ['pipe', 'pipe', 'ignore'],
    signal,
  });
  const closed = new Promise<number | string | null>((resolve, reject) => {
    child.on('error', (cause) =>
      reject(signal.aborted ? signal.reason : failed(program, 'cannot be run', cause)),
    );
    child.on('close', (status, kill) => resolve(status ?? kill));
  });
  // A helper may exit without reading stdin; ignore the error and use its output.
  child.stdin.on('error', () => undefined);
  child.stdin.end(server);
  const [said, code] = await Promise.all([textOf(child.stdout), closed]);
  if (said === undefined) throw failed(program, `says more than ${longestAnswer} bytes`);
  if (code !== 0) {
    // This is the only way in which helpers report missing credentials (docker-credential-helpers,
    // credentials/error.go).
    if (said.includes('credentials not found')) return undefined;
    throw failed(program, `ended with ${code}; to see why: echo ${server} | ${program} get`);
  }
  const { username, secret } = parseAnswer(said, program);
  if (username === '<token>')
    throw failed(program, `has an identity token for ${server}, which is not supported`);
  return { username, password: secret };
}

/**
 * Returns undefined if the text is longer than any answer. The stream is closed then, which ends the process
 * that writes to it.
 */
async function textOf(stream: AsyncIterable<Uint8Array>): Promise<string | undefined> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of stream) {
    length += chunk.length;
    if (length > longestAnswer) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

function parseAnswer(said: string, program: string): { readonly username: string; readonly secret: string } {
  let value: unknown;
  try {
    value = JSON.parse(said);
  } catch (error) {
    // The parser's message quotes the text, which contains a password.
    if (!(error instanceof SyntaxError)) throw error;
  }
  const { Username: username, Secret: secret } = isRecord(value) ? value : {};
  if (typeof username === 'string' && typeof secret === 'string') return { username, secret };
  throw failed(program, 'did not answer with Username and Secret');
}

const failed = (program: string, words: string, cause?: unknown): ProductError =>
  new ProductError('REGISTRY_UNAUTHORIZED', `${program} ${words}`, { cause });
