// What other scripts put on a page of the book. Only the type checker reads this file.

declare const DOCUMENTATION_OPTIONS: { SHOW_SEARCH_SUMMARY: boolean };
