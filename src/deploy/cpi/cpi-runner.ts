import { cpiRecordStart } from '../../bosh/cpi-record.ts';
import { toJson } from '../../bosh/yaml/exact-json.ts';
import { ProductError, isProductError } from '../../errors/product-error.ts';
import { truncateAtWord, progressPrefixes } from '../../errors/text.ts';
import { notAllRemoved, type ErrorCode } from '../../errors/error-table.ts';
import { throwIfInterrupted } from '../../errors/throw-if-interrupted.ts';
import { parseJsonObject } from '../../platform/json.ts';
import { isSystemError, runProgram, type ProgramResult } from '../../platform/run-program.ts';

/** Locates the installed CPI. */
export interface CpiExecutable {
  readonly path: string;
  readonly packagesDirectory: string;
  readonly jobsDirectory: string;
}

/** The JSON request on the CPI's stdin, in the order of its keys. */
interface CpiRequest {
  readonly method: string;
  readonly arguments: readonly unknown[];
  readonly context: {
    readonly director_uuid: string;
    readonly vm: { readonly stemcell: { readonly api_version: number } };
  };
  readonly api_version: number;
}

export interface CpiRunnerOptions {
  /** The operator's environment, which the CPI inherits. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Timeout of one call, in milliseconds. The process group is killed when it expires. */
  readonly deadline: number;
  readonly signal?: AbortSignal | undefined;
  /** Milliseconds that a running call may continue after an interrupt. */
  readonly grace: number;
  readonly onStart?: (pid: number, method: string) => void;
  /**
   * Called while a call runs, with a text that names the object for which the call waits, and with the notes
   * of the call.
   */
  readonly onWaiting?: (line: string) => void;
  /** Called at the end of a call of our CPI with its record (src/bosh/cpi-record.ts). */
  readonly onRecord?: (line: string) => void;
}

export type CpiRunner = (request: CpiRequest) => Promise<CpiResponse>;

/**
 * Calls `bin/cpi` of an installed release, one process for each call. Output that is not a valid response is
 * CPI_FAILED (bosh-cli cloud/cpi_cmd_runner.go).
 */
export function createCpiRunner(executable: CpiExecutable, options: CpiRunnerOptions): CpiRunner {
  return async (request) => {
    throwIfInterrupted(options.signal);
    const result = await call(executable, request, options);
    assertAnswered(executable, request, result, options);
    const response = parseCpiResponse(result.stdout);
    if (response !== undefined) return response;
    throw new ProductError(
      'CPI_FAILED',
      `Unmarshalling external CPI command output: STDOUT: '${truncate(result.stdout)}', STDERR: '${lastLines(result.stderr)}': not one JSON object with 'result' and 'error'`,
    );
  };
}

/**
 * Our CPI begins stderr lines for the operator with one of these prefixes (src/cpi/call.ts). Everything else
 * that a CPI writes to stderr is its log.
 */
const isForOperator = (line: string): boolean =>
  Object.values(progressPrefixes).some((prefix) => line.startsWith(prefix));

const isRecord = (line: string): boolean => line.startsWith(cpiRecordStart);

async function call(
  executable: CpiExecutable,
  request: CpiRequest,
  options: CpiRunnerOptions,
): Promise<ProgramResult> {
  try {
    return await runProgram({
      file: executable.path,
      args: [],
      environment: {
        ...options.environment,
        BOSH_PACKAGES_DIR: executable.packagesDirectory,
        BOSH_JOBS_DIR: executable.jobsDirectory,
      },
      input: toJson(request),
      timeoutMs: options.deadline,
      signal: options.signal,
      graceMs: options.grace,
      onStart: (pid) => options.onStart?.(pid, request.method),
      onErrorLine: (line) => {
        if (isRecord(line)) options.onRecord?.(line);
        else if (isForOperator(line)) options.onWaiting?.(line);
      },
    });
  } catch (error) {
    if (!isSystemError(error)) throw error;
    throw new ProductError('CPI_FAILED', `Executing external CPI command: '${executable.path}'`, {
      cause: error,
    });
  }
}

function assertAnswered(
  { path }: CpiExecutable,
  { method }: CpiRequest,
  result: ProgramResult,
  options: CpiRunnerOptions,
): void {
  const stderr = lastLines(result.stderr);
  if (result.stopped === 'deadline') {
    throw new ProductError(
      'CPI_FAILED',
      `CPI '${method}' did not answer within ${options.deadline / 1000} s and was killed, stderr: '${stderr}'`,
    );
  }
  if (result.stopped === 'interrupt') {
    throw new ProductError(
      'INTERRUPTED',
      `CPI '${method}' did not end within ${options.grace / 1000} s of the interrupt and was killed; the next run repeats it, stderr: '${stderr}'`,
    );
  }
  // The terminal's Ctrl-C also reaches a call that has just started and does not yet have its own process
  // group.
  if (result.killedBy === 'SIGINT') {
    throw new ProductError(
      'INTERRUPTED',
      `CPI '${method}' ended with the interrupt; the next run repeats it, stderr: '${stderr}'`,
    );
  }
  if (result.exitCode === 0) return;
  const end =
    result.exitCode === undefined
      ? `signal ${result.killedBy ?? 'unknown'}`
      : `exit status ${result.exitCode}`;
  throw new ProductError('CPI_FAILED', `Executing external CPI command: '${path}'`, {
    cause: new ProductError(
      'CPI_FAILED',
      `Running command: '${path}', method: '${method}', stdout: '${truncate(result.stdout)}', stderr: '${stderr}': ${end}`,
    ),
  });
}

function truncate(text: string): string {
  return text.length <= 2000 ? text : `${truncateAtWord(text, 2000)}… (${text.length} characters)`;
}

function lastLines(text: string): string {
  const lines = text.trimEnd().split('\n');
  return lines
    .filter((line) => !isRecord(line))
    .slice(-20)
    .join('\n');
}

export interface CpiErrorObject {
  readonly type: string;
  readonly message: string;
  readonly ok_to_retry: boolean;
}

export interface CpiResponse {
  readonly result: unknown;
  readonly error: CpiErrorObject | undefined;
}

const codeOfType: Readonly<Record<string, ErrorCode>> = {
  'Bosh::Clouds::VMNotFound': 'VM_NOT_FOUND',
  'Bosh::Clouds::DiskNotFound': 'DISK_NOT_FOUND',
  'Bosh::Clouds::StemcellNotFound': 'STEMCELL_NOT_FOUND',
  'Bosh::Clouds::NotImplemented': 'NOT_IMPLEMENTED',
  'Bosh::Clouds::NotSupported': 'NOT_SUPPORTED',
};

/**
 * Parses the output of a CPI. Returns undefined if it is not a single JSON object of the contract's shape
 * (docs-bosh: content/cpi-api-v2.md).
 */
export function parseCpiResponse(text: string): CpiResponse | undefined {
  const value = parseJsonObject(text);
  if (value === undefined) return undefined;
  const { result = null, error = null } = value;
  if (error !== null && !isErrorObject(error)) return undefined;
  return { result, error: error === null ? undefined : error };
}

/**
 * Returns the error of a CPI call with bosh's message. The code distinguishes the error types that callers
 * handle (bosh-cli cloud/errors.go).
 */
export function cpiCallError(method: string, error: CpiErrorObject): ProductError {
  const { type, message, ok_to_retry: okToRetry } = error;
  const code = codeOf(method, error);
  const shown = JSON.stringify({ type, message, ok_to_retry: okToRetry });
  return new ProductError(code, `CPI '${method}' method responded with error: CmdError${shown}`);
}

/** Returns true if the CPI itself reported the error. */
export function isCpiError(error: unknown): boolean {
  return isProductError(error) && error.code !== 'CPI_FAILED' && error.code !== 'INTERRUPTED';
}

/**
 * Returns true if a VM may exist after create_vm failed with `error`. A CPI that returns an error has removed
 * what it created, or reports that it could not.
 */
export function mayHaveLeftVm(error: unknown): boolean {
  return !isCpiError(error) || isProductError(error, 'VM_LEFT_BEHIND');
}

function codeOf(method: string, error: CpiErrorObject): ErrorCode {
  if (meansNotImplemented(error)) return 'NOT_IMPLEMENTED';
  if (method === 'create_vm' && reportsLeftBehindVm(error)) return 'VM_LEFT_BEHIND';
  return codeOfType[error.type] ?? 'CPI_ERROR';
}

/**
 * Returns true if our CPI reports that it left something, or if the error is an internal error of the CPI,
 * which can occur before it has removed anything.
 */
function reportsLeftBehindVm({ type, message }: CpiErrorObject): boolean {
  return type === 'Bosh::Clouds::CpiError' || message.includes(notAllRemoved);
}

function meansNotImplemented({ type, message }: CpiErrorObject): boolean {
  if (type === 'Bosh::Clouds::CloudError') return message.startsWith('Invalid Method:');
  return type === 'InvalidCall' && message.startsWith('Method is not known, got');
}

function isErrorObject(value: unknown): value is CpiErrorObject {
  if (typeof value !== 'object' || value === null) return false;
  const { type, message } = value as Partial<CpiErrorObject>;
  return typeof type === 'string' && typeof message === 'string';
}
