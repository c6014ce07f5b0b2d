/** A rule of the operator: a share, with all paths below it, and the orgs and spaces that may use it. */
export interface AllowedShare {
  /** The share in the normalised form of the option `share`. */
  readonly share: string;
  /** GUIDs. Absent means all. */
  readonly organizations?: readonly string[] | undefined;
  readonly spaces?: readonly string[] | undefined;
}

/** The org and space that want to use a share. */
export interface ShareConsumer {
  /** undefined if the platform does not send it. Then no rule with `organizations` applies. */
  readonly organizationGuid: string | undefined;
  readonly spaceGuid: string;
}

/** Returns true if a rule allows the share for the org and space, or if there are no rules. */
export function isAllowed(
  rules: readonly AllowedShare[] | undefined,
  share: string,
  asker: ShareConsumer,
): boolean {
  if (rules === undefined) return true;
  return rules.some(
    (rule) =>
      isWithin(share, rule.share) &&
      includesOrAll(asker.organizationGuid, rule.organizations) &&
      includesOrAll(asker.spaceGuid, rule.spaces),
  );
}

const includesOrAll = (guid: string | undefined, allowed: readonly string[] | undefined): boolean =>
  allowed === undefined || (guid !== undefined && allowed.includes(guid));

function isWithin(share: string, folder: string): boolean {
  const whole = folder.replace(/\/+$/u, '');
  return share === folder || share === whole || share.startsWith(`${whole}/`);
}

export const shareNotAllowed =
  'the share is not allowed to this org and space; ask the operator of the broker for it (allowed_shares)';
