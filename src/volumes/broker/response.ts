/** The response of the broker to one request: a status of OSBAPI 2.17 and the JSON body. */
export interface BrokerResponse {
  readonly status: number;
  readonly body: Readonly<Record<string, unknown>>;
}

/** The error codes of OSBAPI 2.17 that this broker sends. */
type BrokerErrorCode =
  | 'MaintenanceInfoConflict'
  | 'RequiresApp'
  | 'Conflict'
  | 'NotFound'
  | 'InvalidRequest'
  | 'Unauthorized'
  | 'UnsupportedApiVersion'
  | 'StoreUnavailable'
  | 'InternalError';

/**
 * Returns an error response. `description` names the error and what to do about it, and contains no secret.
 */
export function errorResponse(status: number, error: BrokerErrorCode, description: string): BrokerResponse {
  return { status, body: { error, description } };
}

/**
 * Returns a response for an invalid request. Parameter errors never get 422: Cloud Controller treats 422 as
 * an error of the broker and starts orphan mitigation, which deletes what the request may have created.
 */
export const badRequest = (description: string): BrokerResponse =>
  errorResponse(400, 'InvalidRequest', description);
