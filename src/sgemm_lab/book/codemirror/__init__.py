"""CodeMirror, the editor of the pages: its packages, and the script that they are joined into."""
