"""``python -m laya``."""

from laya.cli import main

if __name__ == "__main__":
    main()
