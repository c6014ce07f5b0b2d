import { isProductError, ProductError } from '../../errors/product-error.ts';
import { notAllRemoved, type ErrorCode } from '../../errors/error-table.ts';

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
  const value = parseObject(text);
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
  if (method === 'create_vm' && saysLeftBehind(error)) return 'VM_LEFT_BEHIND';
  return codeOfType[error.type] ?? 'CPI_ERROR';
}

/**
 * Returns true if our CPI reports that it left something, or if the error is an internal error of the CPI,
 * which can occur before it has removed anything.
 */
function saysLeftBehind({ type, message }: CpiErrorObject): boolean {
  return type === 'Bosh::Clouds::CpiError' || message.includes(notAllRemoved);
}

function meansNotImplemented({ type, message }: CpiErrorObject): boolean {
  if (type === 'Bosh::Clouds::CloudError') return message.startsWith('Invalid Method:');
  return type === 'InvalidCall' && message.startsWith('Method is not known, got');
}

function parseObject(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : undefined;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

function isErrorObject(value: unknown): value is CpiErrorObject {
  if (typeof value !== 'object' || value === null) return false;
  const { type, message } = value as Partial<CpiErrorObject>;
  return typeof type === 'string' && typeof message === 'string';
}
