import { badRequest, invalid } from '../errors/status-errors.ts';
import { unsupportedValue } from '../errors/field-causes.ts';

/** Returns the number of a query parameter; undefined if it is absent. Throws ApiError 400. */
export function integerParameter(query: URLSearchParams, name: string): number | undefined {
  const value = query.get(name);
  if (value === null || value === '') return undefined;
  if (!/^-?\d{1,15}$/.test(value)) throw badRequest(`${name}: ${JSON.stringify(value)} must be an integer`);
  return Number(value);
}

/**
 * Returns the boolean of a query parameter; undefined if it is absent. `?follow` and `?follow=` count as
 * true, as in Go clients. Throws ApiError 400.
 */
export function booleanParameter(query: URLSearchParams, name: string): boolean | undefined {
  const value = query.get(name);
  if (value === null) return undefined;
  if (['', '1', 't', 'T', 'true', 'TRUE', 'True'].includes(value)) return true;
  if (['0', 'f', 'F', 'false', 'FALSE', 'False'].includes(value)) return false;
  throw badRequest(`${name}: ${JSON.stringify(value)} must be true or false`);
}

/**
 * Validates `timeout`, the time that a client is willing to wait. Every response here is sent sooner than any
 * limit, so the value only has to be a Go duration (kubernetes: endpoints/filters/request_deadline.go).
 * Throws ApiError 400.
 */
export function checkTimeout(query: URLSearchParams): void {
  const value = query.get('timeout') ?? '';
  // Every request passes here, so no text may match this pattern in two ways: backtracking would be
  // quadratic.
  if (value === '' || /^[-+]?(?:0|(?:(?:\d+(?:\.\d*)?|\.\d+)(?:ns|us|µs|μs|ms|s|m|h))+)$/.test(value)) return;
  throw badRequest(
    `invalid timeout specified in the request URL - time: invalid duration ${JSON.stringify(value.slice(0, 100))}`,
  );
}

/**
 * Returns false for `[]` and true for `["All"]` (the parameter `dryRun`). Throws ApiError 422 for anything
 * else.
 */
export function isDryRun(values: readonly string[]): boolean {
  const bad = values.find((value) => value !== 'All');
  if (bad !== undefined)
    throw invalid('Options', 'meta.k8s.io', '', [unsupportedValue('dryRun', bad, ['All'])]);
  return values.length > 0;
}
