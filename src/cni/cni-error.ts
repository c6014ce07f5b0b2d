/**
 * The codes of error objects that this plugin prints (CNI spec 1.1, section 5: below 100 they are the spec's own).
 * docs/static-ip.md lists them; a test holds it.
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

/** What a runtime reads when a plugin fails. Codes of delegates are passed on as they are. */
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

/** The error object as text, with a newline; `details` only where there are some. Pure. */
export function errorObject(cniVersion: string, { code, message, details }: CniError): string {
  return `${JSON.stringify({ cniVersion, code, msg: message, ...(details !== '' && { details }) })}\n`;
}
