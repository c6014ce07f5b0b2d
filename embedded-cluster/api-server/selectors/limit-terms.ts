import { badRequest } from '../errors/status-errors.ts';

const maximumTerms = 200;

/**
 * Throws ApiError 400 for a selector with more requirements and values than a server can compare with every
 * object.
 */
export function limitTerms(selector: string): void {
  let terms = 1;
  for (let at = selector.indexOf(','); at !== -1; at = selector.indexOf(',', at + 1)) terms += 1;
  if (terms <= maximumTerms) return;
  throw badRequest(
    `the selector has ${terms} requirements and values; it may have ${maximumTerms}: select more, and leave out the rest at the client`,
  );
}
