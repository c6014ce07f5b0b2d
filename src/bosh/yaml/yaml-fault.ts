import type { ErrorCode } from 'yaml';

const sentences: Readonly<Record<ErrorCode, string>> = {
  ALIAS_PROPS: 'an alias cannot have an anchor or a tag of its own',
  BAD_ALIAS: 'an anchor or alias has no name, or one that ends in a colon',
  BAD_COLLECTION_TYPE: 'a tag does not fit the kind of what it stands before',
  BAD_DIRECTIVE: 'a line that begins with % is no directive; put the text in quotes',
  BAD_DQ_ESCAPE: 'a backslash in double quotes begins no known escape; double it, or use single quotes',
  BAD_INDENT: 'the indentation does not fit the lines before, or a bracket or quotation mark is not closed',
  BAD_PROP_ORDER: 'an anchor or a tag has to stand behind - ? or :',
  BAD_SCALAR_START: 'a text cannot begin with this character; put it in quotes',
  BLOCK_AS_IMPLICIT_KEY: 'a second ": " in one line; put the text in quotes',
  BLOCK_IN_FLOW: 'a list or map in lines cannot stand within brackets',
  DUPLICATE_KEY: 'Map keys must be unique',
  IMPOSSIBLE: 'this cannot be read as YAML',
  KEY_OVER_1024_CHARS: 'a key is longer than 1024 characters',
  MISSING_CHAR: 'a character is missing: a colon, a comma, a blank, a bracket or a closing quotation mark',
  MULTILINE_IMPLICIT_KEY: 'a key has to be on one line; a colon may be missing behind it',
  MULTIPLE_ANCHORS: 'one value has two anchors',
  MULTIPLE_DOCS: 'there is more than one document',
  MULTIPLE_TAGS: 'one value has two tags',
  NON_STRING_KEY: 'a key has to be text',
  RESOURCE_EXHAUSTION: 'it nests too deep',
  TAB_AS_INDENT: 'Tabs are not allowed as indentation; use blanks',
  TAG_RESOLVE_FAILED:
    'a tag is not known, or its value does not fit it; a text that begins with ! has to be in quotes',
  UNEXPECTED_TOKEN: 'this character has no meaning here; a text that has it has to be in quotes',
};

/**
 * Describes a YAML error by the parser's error code. The parser's own message quotes the text, which may be a
 * secret.
 */
export function describeYamlFault({ code }: { readonly code: ErrorCode }): string {
  return sentences[code];
}
