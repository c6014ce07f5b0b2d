/**
 * The codes of the error objects that this plugin prints (CNI spec 1.1, section 5: codes below 100 belong to
 * the spec). docs/static-ip.md lists them; a test checks that.
 */
export const cniErrorCode = {
  incompatibleVersion: 1,
  invalidEnvironment: 4,
  inputOutput: 5,
  undecodable: 6,
  invalidConfig: 7,
  notAvailable: 50,
  delegateFailed: 100,
  annotationsMissing: 101,
  addressInvalid: 102,
  addressNotGiven: 103,
  namespaceNotAllowed: 104,
} as const;

/** The error that a runtime gets from a failed plugin. Codes of delegates are passed on unchanged. */
export class CniError extends Error {
  readonly code: number;
  readonly details: string;

  constructor(code: number, message: string, details = '') {
    super(message);
    this.name = 'CniError';
    this.code = code;
    this.details = details;
  }
}

/** Returns the error object as text, with a newline; `details` only if they are not empty. */
export function errorObject(cniVersion: string, { code, message, details }: CniError): string {
  return `${JSON.stringify({ cniVersion, code, msg: message, ...(details !== '' && { details }) })}\n`;
}
