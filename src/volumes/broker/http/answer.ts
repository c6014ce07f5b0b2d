/** What the broker answers to one request: a status of OSBAPI 2.17 and the JSON body. */
export interface BrokerResponse {
  readonly status: number;
  readonly body: Readonly<Record<string, unknown>>;
}

/** The error codes of OSBAPI 2.17 that this broker sends. */
export type BrokerErrorCode =
  | 'ConcurrencyError'
  | 'MaintenanceInfoConflict'
  | 'RequiresApp'
  | 'Conflict'
  | 'NotFound'
  | 'InvalidRequest'
  | 'Unauthorized'
  | 'UnsupportedApiVersion'
  | 'StoreUnavailable'
  | 'InternalError';

/** An answer that refuses; `description` names what is wrong and what to do, and holds no secret. */
export function errorResponse(status: number, error: BrokerErrorCode, description: string): BrokerResponse {
  return { status, body: { error, description } };
}

/**
 * A request that cannot be met as it is. Never 422 for parameters: Cloud Controller takes that for a fault
 * of the broker, and deletes what it thinks was made.
 */
export const badRequest = (description: string): BrokerResponse =>
  errorResponse(400, 'InvalidRequest', description);
