"""What a subscription lets through: tags, SQL92 expressions, and the bit maps that stand for them. All pure."""
