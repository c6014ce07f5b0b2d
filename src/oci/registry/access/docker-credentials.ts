import { spawn } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { ProductError } from '../../../errors/product-error.ts';
import type { RegistryCredentials } from './authenticator.ts';
import { isObject } from '../../../platform/json.ts';

export interface CredentialQuery {
  /** The host as image names contain it. */
  readonly host: string;
  readonly repository: string;
  /** The only file to read; absent: the default files of docker, podman and skopeo. */
  readonly authFile: string | undefined;
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Ends a running credential helper. */
  readonly signal: AbortSignal;
}

type Json = Readonly<Record<string, unknown>>;

/**
 * Finds the credentials that `docker login`, `podman login` or `skopeo login` stored for a registry
 * (containers-auth.json(5), docker's config.json). Returns undefined if there are none; requests are then
 * anonymous. Rejects with INVALID_ARGUMENT, without quoting the file, if it is not a valid file of
 * credentials.
 */
export async function findCredentials(question: CredentialQuery): Promise<RegistryCredentials | undefined> {
  for (const path of question.authFile === undefined
    ? defaultAuthFiles(question.environment)
    : [question.authFile]) {
    const content = await readAuthFile(path, question.authFile !== undefined);
    const credentials = content === undefined ? undefined : await credentialsIn(content, question, path);
    if (credentials !== undefined) return credentials;
  }
  return undefined;
}

function defaultAuthFiles(environment: CredentialQuery['environment']): readonly string[] {
  const runtime = environment['XDG_RUNTIME_DIR'];
  const docker = environment['DOCKER_CONFIG'] ?? join(environment['HOME'] ?? homedir(), '.docker');
  return [
    ...[environment['REGISTRY_AUTH_FILE'] ?? ''].filter((path) => path !== ''),
    ...(runtime === undefined || runtime === '' ? [] : [join(runtime, 'containers', 'auth.json')]),
    join(docker, 'config.json'),
  ];
}

async function readAuthFile(path: string, isNamed: boolean): Promise<Json | undefined> {
  let text: string;
  try {
    text = await readFile(path, 'utf8');
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined;
    if (!isNamed && (code === 'ENOENT' || code === 'ENOTDIR')) return undefined;
    throw new ProductError('FILE_NOT_FOUND', `Cannot read '${path}': ${String(code)}`, { cause: error });
  }
  try {
    const value: unknown = JSON.parse(text);
    if (isObject(value)) return value;
  } catch (error) {
    // The parser's message quotes the text.
    if (!(error instanceof SyntaxError)) throw error;
  }
  throw invalid(path, 'is not a JSON object');
}

async function credentialsIn(
  content: Json,
  { host, repository, environment, signal }: CredentialQuery,
  path: string,
): Promise<RegistryCredentials | undefined> {
  const { auths, credHelpers: helpers, credsStore: store } = content;
  const names = namesOf(host, repository);
  const helper = names.map((name) => (isObject(helpers) ? helpers[name] : undefined)).find(isText) ?? store;
  if (isText(helper)) {
    const server = names.at(-1) ?? host;
    const given = await runCredentialHelper({ helper, server, environment, signal });
    if (given !== undefined) return given;
  }
  const entry = names.map((name) => (isObject(auths) ? auths[name] : undefined)).find(isObject);
  return entry === undefined ? undefined : credentialsOf(entry, path, host);
}

const isText = (value: unknown): value is string => typeof value === 'string' && value !== '';

/** Returns the keys of a registry, the most specific first. Docker's own registry also has an old key. */
function namesOf(host: string, repository: string): string[] {
  const parts = repository.split('/');
  const paths = parts.map((_, index) => `${host}/${parts.slice(0, parts.length - index).join('/')}`);
  const hub = host === 'docker.io' ? ['https://index.docker.io/v1/'] : [];
  return [...paths, `https://${host}`, host, ...hub];
}

function credentialsOf(entry: Json, path: string, host: string): RegistryCredentials | undefined {
  const { auth, username, password } = entry;
  if (isText(username) && isText(password)) return { username, password };
  if (!isText(auth)) {
    if (isText(entry['identitytoken']))
      throw invalid(
        path,
        `has an identity token for ${host}, which is not supported: log in with a password`,
      );
    return undefined;
  }
  const [, user, secret] = /^([^:]+):(.+)$/su.exec(Buffer.from(auth, 'base64').toString('utf8')) ?? [];
  if (user === undefined || secret === undefined)
    throw invalid(path, `has no user and password in its entry for ${host}`);
  // Docker pads with zeros.
  return { username: user, password: secret.replace(/\0+$/u, '') };
}

const invalid = (path: string, message: string): ProductError =>
  new ProductError('INVALID_ARGUMENT', `'${path}' ${message}`);

const maxAnswerLength = 1024 * 1024;

export interface HelperQuery {
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
}: HelperQuery): Promise<RegistryCredentials | undefined> {
  const program = `docker-credential-${helper}`;
  if (!/^[A-Za-z0-9._-]+$/u.test(helper)) throw failed('a credential helper', 'has an invalid name');
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
  const [output, code] = await Promise.all([textOf(child.stdout), closed]);
  if (output === undefined) throw failed(program, `prints more than ${maxAnswerLength} bytes`);
  if (code !== 0) {
    // This is the only way in which helpers report missing credentials (docker-credential-helpers,
    // credentials/error.go).
    if (output.includes('credentials not found')) return undefined;
    throw failed(program, `ended with ${code}; to see why: echo ${server} | ${program} get`);
  }
  const { username, secret } = parseAnswer(output, program);
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
    if (length > maxAnswerLength) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

function parseAnswer(
  output: string,
  program: string,
): { readonly username: string; readonly secret: string } {
  let value: unknown;
  try {
    value = JSON.parse(output);
  } catch (error) {
    // The parser's message quotes the text, which contains a password.
    if (!(error instanceof SyntaxError)) throw error;
  }
  const { Username: username, Secret: secret } = isObject(value) ? value : {};
  if (typeof username === 'string' && typeof secret === 'string') return { username, secret };
  throw failed(program, 'did not print Username and Secret');
}

const failed = (program: string, message: string, cause?: unknown): ProductError =>
  new ProductError('REGISTRY_UNAUTHORIZED', `${program} ${message}`, { cause });
